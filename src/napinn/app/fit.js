// Check, fit and report: everything shown here is read from the server, so that a page may come and go.
"use strict";
(() => {
  const { state, make, mathematics, byId, say, send, fail } = app;
  const WORDS = {
    none: "Not fitted yet.", starting: "The fit is starting.", running: "The fit is running. You may close this page; it continues.", stopping: "The fit was asked to stop.",
    finished: "Finished.", interrupted: "Stopped before the end. This is what it had found by then.",
    stopped: "The fit was ended before it had a result. Continue takes it up at its last checkpoint.", failed: "The fit could not begin.",
  };
  const OUTCOMES = { pass: "passed", doubt: "doubt", cannot: "not possible" };
  let checked = null;

  const time = (seconds) => (seconds < 90 ? `${Math.round(seconds)} s` : seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`);
  const digits = (value) => (typeof value === "number" ? Number(value.toPrecision(5)).toString() : "–");

  // Check ------------------------------------------------------------------------------------------------------------
  async function check() {
    if (checked === state.revision) return;
    byId("recap").replaceChildren(...state.feedback.equations.filter((line) => line.math).map((line) => mathematics(line.math)));
    const place = byId("findings");
    byId("fit-start").disabled = true;
    byId("expected").textContent = "";
    if (!state.feedback.ready) {
      const wrong = state.feedback.columns ?? state.feedback.equation ?? Object.values(state.feedback.numbers).find((text) => text);
      byId("summary").textContent = "";
      place.replaceChildren(finding("obstacle", wrong));
      return;
    }
    const revision = state.revision;
    place.replaceChildren(make("li", {}, "Looking …"));
    try {
      const told = await send(`api/check/${state.id}`);
      if (revision !== state.revision) return;
      byId("summary").textContent = told.summary;
      place.replaceChildren(...(told.findings.length ? told.findings.map((each) => finding(each.weight, each.text)) : [make("li", {}, "Nothing looks wrong.")]));
      byId("fit-start").disabled = told.blocked;
      checked = revision;
      const { expected } = await send(`api/expect/${state.id}`);
      if (revision === state.revision) byId("expected").textContent = expected;
    } catch (error) {
      if (error instanceof app.Refusal && error.code === 400) place.replaceChildren(finding("obstacle", error.message));
      else fail(error);
    }
  }

  function finding(weight, text) {
    return make("li", {}, make("span", { class: `badge ${weight}` }, weight), make("span", {}, text[0].toUpperCase() + text.slice(1)));
  }

  // Fit --------------------------------------------------------------------------------------------------------------
  function sentence(fit) {
    if (fit.state === "finished") return fit.message || WORDS.finished;
    if (fit.state === "running" && !fit.progress) return WORDS.starting;
    return fit.state === "stopped" || fit.state === "failed" ? `${WORDS[fit.state]} ${fit.why ?? ""}`.trim() : WORDS[fit.state];
  }

  function detail(fit) {
    if (fit.progress) {
      const left = fit.progress.seconds_left;
      return `${fit.progress.phase}, ${time(fit.seconds)} so far${left === null ? "" : `, about ${time(left)} left`}`;
    }
    if (fit.state === "running") return `${time(fit.seconds)} so far`;
    if (fit.state !== "finished") return "";
    const faulty = Object.entries(fit.faulty).map(([sensor, verdict]) => `${sensor} (${verdict})`).join(", ");
    return `${fit.flagged} of ${fit.count} readings flagged as unreliable${faulty ? `; faulty sensors: ${faulty}` : ""}. The fit took ${time(fit.seconds)}.`;
  }

  function card(name, value, interval, unit) {
    const spread = interval ? make("span", {}, `95 % interval ${interval}`) : null;
    return make("div", {}, make("dt", {}, name), make("dd", {}, make("b", {}, unit ? `${digits(value)} ${unit}` : digits(value)), spread));
  }

  function draw() {
    const fit = state.fit, busy = fit.state === "running" || fit.state === "stopping";
    say("fit-state", sentence(fit));
    const colour = { failed: "red", stopped: "yellow", stopping: "yellow", none: "plain", running: "plain" }[fit.state] ?? fit.colour ?? "";
    byId("fit-state").className = `status ${colour}`;
    byId("fit-notes").replaceChildren(...(fit.notes ?? []).map((note) => make("li", {}, note)));
    const bar = byId("fit-bar");
    bar.hidden = !busy;
    if (fit.progress) { bar.max = fit.progress.total; bar.value = fit.progress.done; } else bar.removeAttribute("value");
    byId("fit-detail").textContent = detail(fit);
    byId("fit-values").replaceChildren(...Object.entries(fit.unknowns ?? {}).map(([name, value]) => card(name, value, fit.intervals?.[name], fit.units?.[name])));
    byId("fit-start").hidden = busy;
    byId("fit-start").textContent = fit.state === "none" ? "Fit" : "Fit again";
    for (const [name, first] of [["fit-start", !fit.report && !fit.can_resume], ["fit-resume", fit.can_resume], ["to-report", !fit.can_resume]])
      byId(name).classList.toggle("primary", Boolean(first));
    byId("fit-stop").hidden = !busy;
    byId("fit-stop").disabled = fit.state === "stopping" && fit.patient;
    byId("fit-stop").textContent = fit.state === "stopping" ? (fit.patient ? "Stopping …" : "End it now") : "Stop";
    byId("fit-resume").hidden = !fit.can_resume;
    byId("to-report").hidden = !fit.report;
    trust(fit);
    byId("log-part").hidden = !fit.log;
    byId("log").textContent = fit.log ?? "";
    byId("command").textContent = fit.command;
    byId("yaml").textContent = state.feedback.ready ? state.feedback.yaml : "There is a problem file as soon as columns and equation are right.";
    report();
  }

  function trust(fit) {
    byId("fit-verify").hidden = fit.state !== "finished" || Boolean(fit.trust);
    byId("trust").hidden = !fit.trust;
    byId("trust-message").textContent = fit.trust?.message ?? "";
    byId("trust-checks").replaceChildren(...(fit.trust?.checks ?? []).map((each) => make("li", {},
      make("span", { class: `badge ${{ pass: "finished", doubt: "doubt" }[each.outcome] ?? ""}` }, OUTCOMES[each.outcome] ?? each.outcome),
      make("span", {}, make("b", {}, `${each.name[0].toUpperCase()}${each.name.slice(1)}. `), each.found))));
  }

  async function verify() {
    const button = byId("fit-verify");
    button.disabled = true;
    button.textContent = "Checking …";
    await act("verify");
    button.disabled = false;
    button.textContent = "Can it be trusted?";
    if (!byId("trust").hidden) byId("trust-message").focus();
  }

  async function act(action) {
    try {
      await app.settled();
      state.fit = await send(`api/${action}/${state.id}`);
      say("notice", "");
    } catch (error) { fail(error); }
    draw();
    app.mark();
    app.follow();
  }

  // Report -----------------------------------------------------------------------------------------------------------
  function report() {
    const fit = state.fit, frame = byId("report");
    byId("report-none").hidden = Boolean(fit.report);
    byId("report-part").hidden = !fit.report;
    byId("files").replaceChildren(...fit.files.map((file) => make("li", {},
      make("span", { class: "main" }, file.name, make("span", {}, file.about)),
      make("a", { class: "button small", href: `${file.address}&save=1`, download: file.name, "aria-label": `Save ${file.name}` }, "Save"))));
    if (!fit.report || byId("step-report").hidden) return;
    const address = fit.files.find((file) => file.name === "report.html").address;
    if (frame.getAttribute("src") !== address) frame.setAttribute("src", address);
    byId("stale").hidden = !fit.stale;
  }

  // The report says how high it is, so that there is one scroll bar and not two.
  window.addEventListener("message", (event) => {
    const frame = byId("report");
    if (event.source !== frame.contentWindow || typeof event.data?.napinnHeight !== "number") return;
    frame.style.height = `${Math.min(Math.max(event.data.napinnHeight, 300), 60000) + 2}px`;
    dress();
  });

  const dress = () => byId("report").contentWindow?.postMessage({ napinnTheme: napinn.root.dataset.theme }, "*");

  byId("fit-start").addEventListener("click", () => act("start"));
  byId("fit-stop").addEventListener("click", () => act("stop"));
  byId("fit-verify").addEventListener("click", verify);
  byId("fit-resume").addEventListener("click", () => act("resume"));
  for (const button of document.querySelectorAll("[data-copy]"))
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(byId(button.dataset.copy).textContent);
      app.tell("Copied.");
    });
  app.fit = { check, draw, dress, forget: () => { checked = null; } };
})();
