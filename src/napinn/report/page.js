// The page of a finished fit: draws the charts of the bundle and moves the field with its sliders. Everything it needs
// is in the page; it asks nothing of the network.
"use strict";
(() => {
  const bundle = JSON.parse(document.getElementById("bundle").textContent);
  const { root, byId, plain, unpack } = napinn;
  const field = bundle.field;
  const state = { field: 0, layer: "fitted", sensor: null, steps: {}, narrow: null };
  const framed = window.parent !== window;
  // Before anything is drawn, so that a second bar and button do not flash up.
  if (framed) root.classList.add("framed");
  // On a map of the field, whose colours are fixed, pale marks are reliable.
  const RELIABILITY = [[0, "#b3340a"], [0.5, "#f3b27a"], [1, "#ffffff"]];
  const FIELD_MAP = "Cividis";
  const ERROR_MAP = "RdBu";
  const SPREAD_MAP = "Viridis";
  // What stands before the name of the field, by layer.
  const LAYER_WORDS = { error: "error of ", spread: "standard deviation of " };

  // Readings ----------------------------------------------------------------------------------------------------
  const spoken = bundle.sensors.map(plain);
  const columns = {};
  for (const [name, entry] of Object.entries(bundle.columns)) columns[name] = unpack(entry);

  function pick(name, chosen) {
    if (name === "sensor name") return Array.from(chosen, (i) => spoken[columns.sensor[i]]);
    const column = columns[name];
    return Float64Array.from(chosen, (i) => column[i]);
  }

  const show = (id, figure) => napinn.show(id, figure, (entry) => pick(entry.column, unpack(bundle.picks[entry.pick])));

  // The field ---------------------------------------------------------------------------------------------------
  const nodes = {};
  for (const [name, entry] of Object.entries(field.axes)) nodes[name] = unpack(entry);
  const across = nodes[field.across];
  const up = field.up === null ? null : nodes[field.up];
  const size = across.length * (up ? up.length : 1);

  function layer(name = state.layer) {
    const fitted = unpack(field.values[state.field]);
    if (name === "fitted") return fitted;
    if (name === "spread") return unpack(field.spread[state.field]);
    const error = unpack(field.errors[state.field]);
    return name === "error" ? error : fitted.map((value, i) => value - error[i]);
  }

  // The start of the drawn plane in the array, given the steps of the sliders that are not drawn themselves.
  function offset() {
    let plane = 0;
    for (const { name } of field.sliders)
      if (name !== field.across && name !== field.up) plane = plane * nodes[name].length + state.steps[name];
    return plane * size;
  }

  function plane() {
    const values = layer(), start = offset(), width = across.length;
    return Array.from(up, (_, row) => values.subarray(start + row * width, start + (row + 1) * width));
  }

  const buckets = new Map();
  const bucketKey = (of, steps) => [of, ...steps].join(" ");

  function gather() {
    const steps = field.sliders.map(({ name }) => columns[`step ${name}`]);
    for (let i = 0; i < bundle.count; i++) {
      const key = bucketKey(columns.field[i], steps.map((column) => column[i]));
      if (!buckets.has(key)) buckets.set(key, { good: [], flagged: [] });
      buckets.get(key)[columns.flagged[i] ? "flagged" : "good"].push(i);
    }
  }

  // Readings to draw: those of the steps where sliders stand, or all, thinned, where there is nothing to slide.
  function readings(atSteps) {
    if (!atSteps) return { good: unpack(bundle.picks[`good ${state.field}`]), flagged: unpack(bundle.picks[`flagged ${state.field}`]) };
    const steps = field.sliders.map(({ name }) => state.steps[name]);
    return buckets.get(bucketKey(state.field, steps)) ?? { good: [], flagged: [] };
  }

  function readingTraces(chosen, x, y, onMap) {
    return ["good", "flagged"].map((kind) => {
      const some = chosen[kind], cross = kind === "flagged", crowded = some.length > 400;
      const reliability = pick("reliability", some);
      return {
        type: "scatter", mode: "markers", name: kind, x: pick(x, some), y: pick(y, some),
        customdata: Array.from(some, (i, n) => [spoken[columns.sensor[i]], columns.value[i], columns.predicted[i], reliability[n]]),
        marker: onMap
          ? { symbol: cross ? "x" : "circle", size: (cross ? 9 : 7) - (crowded ? 3 : 0), color: reliability, cmin: 0, cmax: 1,
              colorscale: RELIABILITY, line: { color: cross ? "#ffffff" : "#111111", width: crowded ? 0.5 : 1 } }
          : { symbol: cross ? "x-thin-open" : "circle", size: cross ? 9 : 6, color: `@${kind}`, opacity: cross ? 1 : 0.75, line: { width: 1 } },
        hovertemplate: "sensor %{customdata[0]}<br>reading %{customdata[1]:.4g}<br>field %{customdata[2]:.4g}<br>reliability %{customdata[3]:.3f}<extra></extra>",
      };
    });
  }

  function colours() {
    if (state.layer === "spread") return { colorscale: SPREAD_MAP, zmin: 0, zmax: layer().reduce((most, value) => value > most ? value : most, 0) };
    if (state.layer !== "error") return { colorscale: FIELD_MAP, zmin: field.low[state.field], zmax: field.high[state.field] };
    const worst = layer().reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    return { colorscale: ERROR_MAP, zmin: -worst, zmax: worst };
  }

  function drawField() {
    const name = field.names[state.field], label = (LAYER_WORDS[state.layer] ?? "") + bundle.labels[name];
    if (field.kind === "curve") {
      const data = [...curves(across, layer), ...readingTraces(readings(false), `at ${field.across}`, "value", false)];
      return show("field", { data, layout: { xaxis: { title: { text: bundle.labels[field.across] } }, yaxis: { title: { text: label } } } });
    }
    const narrow = byId("field").clientWidth < 420;
    // plotly leaves parts of a level colour bar behind where an upright one takes its place.
    if (state.narrow !== null && state.narrow !== narrow) Plotly.purge("field");
    state.narrow = narrow;
    const bar = narrow
      ? { orientation: "h", y: -0.2, yanchor: "top", thickness: 12, title: { text: label, side: "bottom" } }
      : { thickness: 14, title: { text: label, side: "right" } };
    const spaceTime = field.kind === "space-time";
    const map = {
      type: "heatmap", x: across, y: up, z: plane(), zsmooth: "best", ...colours(), colorbar: bar, name: "field",
      hovertemplate: `%{xaxis.title.text}: %{x:.4g}<br>%{yaxis.title.text}: %{y:.4g}<br>${label}: %{z:.4g}<extra></extra>`,
    };
    const marks = state.layer === "fitted" || state.layer === "spread"
      ? readingTraces(readings(!spaceTime && field.sliders.length > 0), `at ${field.across}`, `at ${field.up}`, true) : [];
    const layout = {
      xaxis: { title: { text: bundle.labels[field.across] }, showgrid: false, constrain: "domain" },
      yaxis: { title: { text: bundle.labels[field.up] }, showgrid: false, constrain: "domain" },
    };
    if (field.square) layout.yaxis.scaleanchor = "x";
    if (spaceTime) layout.shapes = [instantLine()];
    const drawn = show("field", { data: [map, ...marks], layout });
    if (spaceTime) drawProfile(bundle.labels[name]);
    return drawn;
  }

  // Along one coordinate: the fitted field in its band of two standard deviations, and the truth where it is known.
  function curves(x, values) {
    const line = (y, more) => ({ type: "scatter", mode: "lines", x, y, ...more });
    const fitted = values("fitted"), drawn = [];
    if (field.spread) {
      const spread = values("spread"), edge = { line: { width: 0 }, hoverinfo: "skip" };
      drawn.push(line(fitted.map((value, i) => value - 2 * spread[i]), { ...edge, showlegend: false }));
      drawn.push(line(fitted.map((value, i) => value + 2 * spread[i]), { ...edge, name: "± 2 deviations", fill: "tonexty", fillcolor: "@band" }));
    }
    drawn.push(line(fitted, { name: "fitted", line: { color: "@ink", width: 2 } }));
    if (field.errors) drawn.push(line(values("truth"), { name: "truth", line: { color: "@soft", width: 2, dash: "dash" } }));
    return drawn;
  }

  function instantLine() {
    const at = across[state.steps[field.across]];
    return { type: "line", x0: at, x1: at, y0: 0, y1: 1, yref: "paper", line: { color: "#ffffff", width: 2, dash: "dot" } };
  }

  function drawProfile(label) {
    const step = state.steps[field.across], width = across.length;
    const values = (which) => { const all = layer(which); return Float64Array.from(up, (_, row) => all[row * width + step]); };
    const range = valueRange();
    show("profile", {
      data: [...curves(up, values), ...readingTraces(readings(true), `at ${field.up}`, "value", false)],
      layout: { xaxis: { title: { text: bundle.labels[field.up] } }, yaxis: { title: { text: label }, range } },
    });
  }

  // One range for all instants, so that the profile moves and not its axis.
  function valueRange() {
    let low = field.low[state.field], high = field.high[state.field];
    for (let i = 0; i < bundle.count; i++)
      if (columns.field[i] === state.field) { low = Math.min(low, columns.value[i]); high = Math.max(high, columns.value[i]); }
    const margin = 0.05 * (high - low || 1);
    return [low - margin, high + margin];
  }

  function slideTo(name, step) {
    state.steps[name] = step;
    const { unit } = field.sliders.find((slider) => slider.name === name);
    byId(`slide-${name}`).value = step;
    byId(`at-${name}`).textContent = `${Number(nodes[name][step].toPrecision(4))} ${unit}`.trim();
  }

  function play(button) {
    const name = button.dataset.play;
    if (button.dataset.timer) {
      clearInterval(Number(button.dataset.timer));
      delete button.dataset.timer;
      button.textContent = "▶";
      return;
    }
    button.textContent = "❚❚";
    button.dataset.timer = setInterval(() => { slideTo(name, (state.steps[name] + 1) % nodes[name].length); drawField(); }, 120);
  }

  // Sensors -----------------------------------------------------------------------------------------------------
  function drawSeries() {
    if (!byId("series")) return;
    const along = columns[`at ${bundle.along}`];
    const chosen = [];
    for (let i = 0; i < bundle.count; i++) if (columns.sensor[i] === state.sensor && columns.field[i] === state.field) chosen.push(i);
    chosen.sort((a, b) => along[a] - along[b]);
    const parts = { good: chosen.filter((i) => !columns.flagged[i]), flagged: chosen.filter((i) => columns.flagged[i]) };
    const line = {
      type: "scatter", mode: chosen.length > 1 ? "lines" : "markers", name: "fitted", x: pick(`at ${bundle.along}`, chosen),
      y: pick("predicted", chosen), line: { color: "@ink", width: 2 }, marker: { color: "@ink", symbol: "line-ew-open", size: 16 },
      hovertemplate: "field %{y:.4g}<extra></extra>",
    };
    show("series", {
      data: [line, ...readingTraces(parts, `at ${bundle.along}`, "value", false)],
      layout: { xaxis: { title: { text: bundle.labels[bundle.along] } }, yaxis: { title: { text: bundle.labels[field.names[state.field]] } } },
    });
  }

  function listSensors() {
    const total = new Float64Array(bundle.sensors.length), flagged = new Float64Array(bundle.sensors.length);
    for (let i = 0; i < bundle.count; i++) { total[columns.sensor[i]]++; flagged[columns.sensor[i]] += columns.flagged[i]; }
    const badness = (i) => (bundle.faults[i] ? 1 : 0) + flagged[i] / total[i];
    const order = Array.from(bundle.sensors.keys()).sort((a, b) => badness(b) - badness(a));
    state.sensor = order[0];
    const select = byId("choose-sensor");
    if (!select) return;
    for (const number of order) {
      const fault = bundle.faults[number] ? `${bundle.faults[number]}, ` : "";
      select.add(new Option(`${bundle.sensors[number]} (${fault}${Math.round((100 * flagged[number]) / total[number])} % flagged)`, number));
    }
    select.addEventListener("change", () => { state.sensor = Number(select.value); drawSeries(); });
    byId("sensors").on("plotly_click", (event) => {
      state.sensor = bundle.sensors.indexOf(event.points[0].customdata[3]);
      select.value = state.sensor;
      drawSeries();
    });
  }

  // Putting it together -----------------------------------------------------------------------------------------
  // Charts and notes that are about one field are hidden while another is chosen.
  function chooseField(number) {
    state.field = number;
    for (const part of document.querySelectorAll("[data-field]")) part.hidden = Number(part.dataset.field) !== number;
  }

  function drawChart([id, figure]) {
    if (figure.field === null || figure.field === state.field) show(id, figure);
  }

  // What stands at the top comes first; the browser may paint and listen between two charts.
  function drawInTurn(charts) {
    if (!charts.length) { root.dataset.drawn = "yes"; return; }
    drawChart(charts[0]);
    setTimeout(drawInTurn, 0, charts.slice(1));
  }

  function drawAll() { drawField(); drawSeries(); charts.forEach(drawChart); }

  const charts = Object.entries(bundle.charts);
  napinn.dress(drawAll);
  for (const { name } of field.sliders) slideTo(name, nodes[name].length >> 1);
  chooseField(0);
  gather();
  drawField();
  if (bundle.charts.sensors) drawChart(["sensors", bundle.charts.sensors]);
  listSensors();
  drawSeries();

  for (const slider of document.querySelectorAll("[data-slide]"))
    slider.addEventListener("input", () => { slideTo(slider.dataset.slide, Number(slider.value)); drawField(); });
  for (const button of document.querySelectorAll("[data-play]")) button.addEventListener("click", () => play(button));
  byId("choose-field")?.addEventListener("change", (event) => { chooseField(Number(event.target.value)); drawAll(); });
  byId("choose-layer")?.addEventListener("change", (event) => { state.layer = event.target.value; drawField(); });
  drawInTurn(charts.filter(([id]) => id !== "sensors"));

  // In the page of the app the report is as high as its content, so that there is one scroll bar and not two.
  if (framed) {
    const tell = () => window.parent.postMessage({ napinnHeight: Math.ceil(document.body.getBoundingClientRect().height) }, "*");
    new ResizeObserver(tell).observe(document.body);
  }
})();
