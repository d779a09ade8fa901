// The page of a running fit: asks its own server for the history every other second and draws it.
"use strict";
(() => {
  const { byId, plain } = napinn;
  const DASHES = ["solid", "dash", "dot", "dashdot"];
  const COLOURS = ["@ink", "@good", "@flagged", "@soft"];
  let latest = null;

  // A loss that a phase does not have is written as zero, which a logarithmic axis cannot show.
  const positive = (values) => values.map((value) => (value > 0 ? value : null));

  function lines(names, logarithmic) {
    return names.filter((name) => name in latest.history).map((name, number) => ({
      type: "scatter", mode: "lines", name: plain(name), x: latest.history.step, y: logarithmic ? positive(latest.history[name]) : latest.history[name],
      line: { color: COLOURS[number % 4], dash: DASHES[number % 4], width: 1.8 },
    }));
  }

  // One panel over the other, because coefficients may differ by orders of magnitude.
  function coefficients() {
    const data = lines(latest.unknowns, false), height = 1 / Math.max(data.length, 1);
    const layout = { showlegend: false, xaxis: { title: { text: "step of the fit" }, anchor: `y${data.length > 1 ? data.length : ""}` } };
    data.forEach((line, number) => {
      const key = number ? String(number + 1) : "", top = 1 - number * height;
      line.yaxis = `y${key}`;
      layout[`yaxis${key}`] = { title: { text: line.name }, domain: [Math.max(top - 0.9 * height, 0), top] };
    });
    return { data, layout: { yaxis: { title: { text: "coefficient" } }, ...layout } };
  }

  function spoken(seconds) {
    return seconds < 90 ? `${Math.round(seconds)} s` : seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
  }

  function draw() {
    if (!latest) return;
    const draw = (id, figure) => {
      // A fit with splines has no gate while it runs: no chart is better than an empty one.
      byId(id).closest("figure").hidden = !figure.data.length;
      if (figure.data.length) napinn.show(id, figure);
    };
    const chart = (id, names, title, more = {}) => draw(id, {
      data: lines(names, more.type === "log"), layout: { showlegend: true, xaxis: { title: { text: "step of the fit" } }, yaxis: { title: { text: title }, ...more } },
    });
    chart("losses", ["total", "equation", "data"], "loss (dimensionless)", { type: "log", exponentformat: "power", dtick: 1 });
    draw("unknowns", coefficients());
    chart("gate", ["steepness", "cutoff"], "steepness, cutoff (dimensionless)");
    chart("flagged", ["rejected"], "share of readings flagged (0 to 1)");
  }

  function tell() {
    const { state, progress, message, seconds_ago: ago } = latest;
    byId("state").textContent = {
      waiting: "Waiting for the first steps.", finished: `Finished. ${message ?? ""}`,
      running: progress ? `${progress.phase}, step ${progress.done} of ${progress.total}, ${progress.steps_a_second} steps a second${progress.seconds_left === null ? "" : `, ${spoken(progress.seconds_left)} left`}.` : "",
      stopped: "No fit is writing to this folder, and it holds no result.",
    }[state];
    byId("state").className = `status ${state === "finished" ? latest.colour : ""}`;
    if (state === "running" && ago > 60) byId("state").textContent += ` Last heard ${Math.round(ago)} s ago.`;
    byId("bar").max = progress?.total ?? 1;
    byId("bar").value = progress?.done ?? (state === "finished" ? 1 : 0);
    byId("report").hidden = !latest.report;
  }

  async function refresh() {
    try {
      latest = await (await fetch("status.json", { cache: "no-store" })).json();
      tell();
      draw();
    } catch {
      byId("state").textContent = "The server has stopped.";
    }
    napinn.root.dataset.refreshed = String(Number(napinn.root.dataset.refreshed ?? 0) + 1);
    setTimeout(refresh, latest?.state === "finished" ? 10000 : 2000);
  }

  napinn.dress(draw);
  refresh();
})();
