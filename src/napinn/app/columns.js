// The columns of the table: what each holds, and the readings as a chart.
"use strict";
(() => {
  const { state, make, box, choice, byId, say } = app;
  const ROLES = [
    ["coordinate", "time or place"], ["field", "what is measured"], ["station", "one of several sensors"], ["sensor", "name of the sensor"], ["deviation", "known deviation of a reading"],
    ["value", "values of several fields"], ["label", "which field a value is of"], ["unused", "not used"],
  ];
  const NAMED = new Set(["coordinate", "field", "station", "value"]);

  function row(column, number) {
    const set = (entry) => (value) => { column[entry] = value; app.edit(); };
    const id = (entry) => `column-${number}-${entry}`;
    const typed = (label, entry, given) =>
      box(label, { id: id(entry), value: column[entry], maxlength: 200, oninput: (event) => set(entry)(event.target.value), ...given });
    const cells = state.sample[column.column].join(", ");
    const parts = [make("div", { class: "what" }, make("b", {}, column.column), make("span", {}, cells))];
    parts.push(choice("holds", id("role"), ROLES, column.role, (value) => { change(column, value); }, true));
    if (NAMED.has(column.role)) {
      parts.push(typed("name in equations", "name", column.role === "station" ? { oninput: rename } : {}));
      if (column.role === "station") parts.push(typed("place, if it has one", "place", { placeholder: "x = 0.2 m" }));
      parts.push(column.clock
        ? choice("count dates in", id("clock"), state.clocks.map((unit) => [unit, unit]), column.clock, set("clock"))
        : typed("unit", "unit"));
    }
    return make("li", { class: ["unused", "station"].includes(column.role) ? column.role : null, "data-column": column.column }, ...parts);
  }

  function change(column, role) {
    column.role = role;
    const like = state.draft.columns.find((other) => other !== column && other.role === "station");
    if (role === "station") column.name = like?.name ?? shared(column);
    else if (NAMED.has(role) && !column.name) column.name = column.column.replace(/\W+/g, "") || "u";
    draw();
    byId(`column-${state.draft.columns.indexOf(column)}-role`).focus();
    app.edit();
  }

  // All columns of this kind are one field: T1, T2 and T3 are T at three places.
  const shared = (column) => column.name.replace(/[\W_]*\d*$/, "").replace(/\W+/g, "") || "u";

  // Sensors of one quantity have one name.
  function rename(event) {
    for (const [number, column] of state.draft.columns.entries()) {
      if (column.role !== "station") continue;
      column.name = event.target.value;
      if (byId(`column-${number}-name`) !== event.target) byId(`column-${number}-name`).value = column.name;
    }
    app.edit();
  }

  // The measured columns that may be sensors of one quantity: those with the unit that most of them have.
  function alike() {
    const fields = state.draft.columns.filter((column) => column.role === "field");
    const groups = fields.map((one) => fields.filter((other) => other.unit === one.unit));
    return groups.reduce((most, group) => (group.length > most.length ? group : most), []);
  }

  function asSensors() {
    const sensors = alike(), name = shared(sensors[0]);
    for (const column of sensors) Object.assign(column, { role: "station", name });
    draw();
    byId(`column-${state.draft.columns.indexOf(sensors[0])}-place`).focus();
    app.edit();
  }

  function draw() {
    byId("title").value = state.draft.title;
    byId("missing").value = state.draft.missing;
    byId("as-sensors-part").hidden = alike().length < 3 || state.draft.columns.some((column) => column.role === "station");
    byId("columns").replaceChildren(...state.draft.columns.map(row));
    chart();
    judge();
  }

  function chart() {
    const figures = state.charts.map((each, number) => make("figure", {},
      make("figcaption", {}, make("h3", {}, `Readings of ${each.field}`), make("p", {}, each.count)),
      make("div", { class: "plot", id: `readings-${number}`, role: "img", "aria-label": `Chart of ${each.count} of ${each.field}` })));
    byId("readings").replaceChildren(...figures);
    if (!byId("step-columns").hidden) state.charts.forEach(show);
  }

  // A legend of many sensors leaves no room for the chart on a narrow screen; a touch on a mark tells its sensor.
  function show(each, number) {
    const crowded = window.innerWidth < 600 && each.figure.data.length > 4;
    const layout = crowded ? { ...each.figure.layout, showlegend: false } : each.figure.layout;
    napinn.show(`readings-${number}`, { data: each.figure.data, layout });
  }

  function judge() { say("columns-problem", state.feedback.columns); }

  byId("title").addEventListener("input", (event) => { state.draft.title = event.target.value; byId("heading").textContent = event.target.value || "Without a name"; app.edit(); });
  byId("missing").addEventListener("input", (event) => { state.draft.missing = event.target.value; app.edit(); });
  byId("as-sensors").addEventListener("click", asSensors);
  app.columns = { draw, chart, judge };
})();
