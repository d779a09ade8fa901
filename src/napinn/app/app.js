// The app as a whole: which part is shown, saving as one types, and following what other tabs and fits do.
"use strict";
(() => {
  const { state, ask, send, make, byId, say, fail } = app;
  const STEPS = [["columns", "Columns"], ["equation", "Equation"], ["fit", "Fit"], ["report", "Report"]];
  const STATES = { none: "not fitted", running: "running", stopping: "stopping", finished: "finished", interrupted: "stopped early", stopped: "ended", failed: "failed" };
  const PAUSE = 350, QUICK = 1000, SLOW = 4000;
  let timer = 0, follower = 0, pending = Promise.resolve(), elsewhere = "";

  app.tell = (text) => { byId("saved").textContent = text; };

  // Which part is shown ------------------------------------------------------------------------------------------------
  function only(part) {
    for (const name of ["home", "analysis", "locked"]) byId(name).hidden = name !== part;
  }

  // What is shown and typed stays behind the notice: with the key of a new start, which another tab brings, it continues.
  app.lock = () => { state.locked = true; clearTimeout(follower); only("locked"); };

  async function route() {
    state.locked = false;
    app.takeKey();
    const [, id, step] = /^#\/([\w-]*)(?:\/(\w+))?$/.exec(location.hash) ?? [null, "", ""];
    say("notice", "");
    app.tell("");
    try {
      await app.settled();
      if (!id) await showHome();
      else await showAnalysis(id, STEPS.some(([name]) => name === step) ? step : "columns");
    } catch (error) {
      if (error instanceof app.Refusal && error.code === 404) { location.hash = "#/"; setTimeout(() => say("notice", error.message), 300); } else fail(error);
    }
  }

  function focus(heading) { window.scrollTo(0, 0); heading.focus({ preventScroll: true }); }

  // Home ---------------------------------------------------------------------------------------------------------------
  async function showHome() {
    const told = await ask("api/home");
    state.id = null;
    state.largest = told.largest;
    only("home");
    document.title = "napinn";
    byId("folder").textContent = told.folder;
    byId("examples").replaceChildren(...told.examples.map((each) => make("li", {}, make("h3", {}, each.title), make("p", {}, each.about),
      make("button", { type: "button", "aria-label": `Open the example: ${each.title}`, onclick: () => begin(() => send("api/example", { example: each.key })) }, "Open"))));
    byId("earlier").hidden = !told.analyses.length;
    byId("analyses").replaceChildren(...told.analyses.map(entry));
    focus(byId("home").querySelector("h1"));
  }

  function entry(each) {
    const when = new Date(each.created).toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
    return make("li", {},
      make("span", { class: "main" }, make("a", { href: `#/${each.id}/${each.state === "none" ? "columns" : "fit"}` }, each.title || each.file), make("span", {}, `${each.file} · ${when}`)),
      make("span", { class: `badge ${each.state}` }, STATES[each.state]),
      make("button", { type: "button", class: "small", "aria-label": `Delete ${each.title}`, onclick: () => remove(each) }, "Delete"));
  }

  async function begin(request) {
    say("notice", "");
    app.tell("Reading …");
    try {
      const { analysis } = await request();
      location.hash = `#/${analysis}/columns`;
    } catch (error) { fail(error); app.tell(""); }
  }

  function take(file) {
    if (!file) return;
    if (file.size > state.largest) say("notice", `${file.name} is larger than ${state.largest / 1e6} MB, the most that is taken; thin it out first.`);
    else begin(() => app.upload(file));
  }

  function remove(each) {
    const dialog = byId("sure");
    byId("sure-text").textContent = `Delete “${each.title || each.file}” with its readings and fits?`;
    dialog.returnValue = "no";
    dialog.onclose = async () => {
      if (dialog.returnValue !== "yes") return;
      try { await send(`api/delete/${each.id}`); await showHome(); } catch (error) { fail(error); }
    };
    dialog.showModal();
  }

  // An analysis ----------------------------------------------------------------------------------------------------------
  async function showAnalysis(id, step) {
    if (state.id !== id) await load(id);
    state.step = step;
    only("analysis");
    for (const [name] of STEPS) byId(`step-${name}`).hidden = name !== step;
    for (const [place, name] of [["to-equation", "equation"], ["to-fit", "fit"], ["to-report", "report"], ["again", "fit"]]) byId(place).href = `#/${id}/${name}`;
    drawAll();
    follow();
    focus(byId(`step-${step}`).querySelector("h2"));
  }

  async function load(id) {
    const told = await ask(`api/analysis/${id}`);
    Object.assign(state, told, { edited: false, agreed: structuredClone(told.draft) });
    app.fit.forget();
  }

  function drawAll() {
    byId("source").textContent = `${state.file}, ${state.rows} rows`;
    byId("heading").textContent = state.draft.title || "Without a name";
    document.title = `${state.draft.title} · napinn`;
    ({ columns: app.columns.draw, equation: app.equation.draw, fit: app.fit.draw, report: app.fit.draw })[state.step]();
    if (state.step === "fit") app.fit.check();
    app.mark();
  }

  // What is done and what is wrong, on the steps themselves.
  app.mark = () => {
    const { feedback, fit } = state;
    const wrong = { columns: Boolean(feedback.columns), equation: Boolean(feedback.equation) && state.draft.equations.some((text) => text.trim()) || Object.values(feedback.numbers).some((text) => text) };
    const done = { columns: !feedback.columns, equation: !feedback.equation && feedback.ready, fit: fit.state === "finished", report: false };
    byId("steps").replaceChildren(...STEPS.map(([name, text], number) => {
      const mood = wrong[name] ? "needs" : done[name] ? "done" : "";
      const spoken = wrong[name] ? "needs a correction" : done[name] ? "done" : "";
      return make("li", {}, make("a", { href: `#/${state.id}/${name}`, class: mood, "aria-current": name === state.step ? "step" : null },
        make("span", { class: "number", "aria-hidden": "true" }, mood === "needs" ? "!" : mood === "done" ? "✓" : String(number + 1)),
        make("span", {}, text), spoken ? make("span", { class: "unseen" }, `, ${spoken}`) : null));
    }));
  };

  // Saving ---------------------------------------------------------------------------------------------------------------
  app.edit = () => {
    state.edited = true;
    clearTimeout(timer);
    timer = setTimeout(save, PAUSE);
  };

  function save() {
    clearTimeout(timer);
    pending = pending.then(saveNow);
    return pending;
  }

  async function saveNow() {
    if (!state.edited || !state.id) return;
    state.edited = false;
    const sent = JSON.stringify(state.draft.names.map((name) => name.name));
    try {
      const told = await send(`api/draft/${state.id}`, { draft: state.draft, revision: state.revision });
      accept(told, sent);
      app.tell("Saved.");
      if (byId("notice").textContent !== elsewhere) say("notice", "");
    } catch (error) {
      if (error instanceof app.Refusal && error.code === 409) { state.edited = true; await takeOver(error.message); }
      else { state.edited = true; fail(error); }
    }
  }

  function accept(told, sent) {
    state.revision = told.revision;
    state.feedback = told.feedback;
    state.agreed = structuredClone(told.draft);
    if (told.charts) { state.charts = told.charts; app.columns.chart(); }
    app.columns.judge();
    const names = JSON.stringify(told.draft.names.map((name) => name.name));
    if (!state.edited && names !== sent) { state.draft.names = told.draft.names; app.equation.names(); }
    else app.equation.judge();
    app.mark();
  }

  // Another tab was quicker: its changes are taken over, and so are those parts that were changed here alone.
  async function takeOver(sentence) {
    const mine = state.draft, before = state.agreed, focused = document.activeElement?.id;
    await load(state.id);
    for (const [part, value] of Object.entries(mine)) {
      const here = JSON.stringify(value), there = JSON.stringify(state.draft[part]), base = JSON.stringify(before[part]);
      if (here !== base && here !== there) { state.draft[part] = value; app.edit(); }
    }
    drawAll();
    if (focused) byId(focused)?.focus();
    elsewhere = sentence;
    say("notice", sentence);
  }

  app.settled = async () => { await save(); };

  // Following --------------------------------------------------------------------------------------------------------------
  async function follow() {
    clearTimeout(follower);
    const id = state.id;
    if (!id || state.locked) return;
    try {
      const told = await ask(`api/fit/${id}`);
      if (state.id !== id) return;
      const changed = JSON.stringify(told) !== JSON.stringify(state.fit);
      state.fit = told;
      if (byId("notice").textContent.startsWith("The napinn server")) say("notice", "");
      if (told.revision > state.revision && !state.edited) await takeOver("This analysis was changed in another tab; the newest version is shown.");
      else if (changed) { if (state.step === "fit" || state.step === "report") app.fit.draw(); app.mark(); }
    } catch (error) { fail(error); }
    if (state.id === id && !state.locked) follower = setTimeout(follow, ["running", "stopping"].includes(state.fit?.state) ? QUICK : SLOW);
  }
  app.follow = follow;

  // Listening --------------------------------------------------------------------------------------------------------------
  const drop = byId("drop");
  for (const [name, over] of [["dragenter", true], ["dragover", true], ["dragleave", false], ["drop", false]])
    drop.addEventListener(name, (event) => { event.preventDefault(); drop.classList.toggle("over", over); });
  drop.addEventListener("drop", (event) => take(event.dataTransfer.files[0]));
  byId("choose").addEventListener("click", () => byId("file").click());
  byId("file").addEventListener("change", (event) => { take(event.target.files[0]); event.target.value = ""; });
  byId("skip").addEventListener("click", (event) => { event.preventDefault(); byId("main").focus(); });
  window.addEventListener("hashchange", route);
  window.addEventListener("storage", () => { if (state.locked) route(); });
  window.addEventListener("pagehide", save);
  document.addEventListener("visibilitychange", () => { if (document.hidden) save(); else follow(); });

  napinn.dress(() => { if (state.id && state.step === "columns") app.columns.chart(); app.fit.dress(); });
  route();
})();
