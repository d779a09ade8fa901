// The equations as they are typed, what each name in them is, and conditions.
"use strict";
(() => {
  const { state, make, box, choice, mathematics, byId, say } = app;
  const KINDS = [["unknown", "to be found"], ["constant", "a known number"], ["hidden", "a hidden field"]];
  const LINES = { equations: "Equation", conditions: "Condition" };

  function line(list, text, number) {
    const id = `${list}-${number}`, label = `${LINES[list]} ${number + 1}`;
    const typed = (event) => { state.draft[list][number] = event.target.value; app.edit(); };
    const remove = make("button", { type: "button", "aria-label": `Remove ${label.toLowerCase()}`, onclick: () => drop(list, number) }, "Remove");
    const input = box(label, { id, value: text, oninput: typed, maxlength: 4000, "aria-describedby": `${id}-wrong` });
    return make("div", { class: "formula" },
      make("div", { class: "line" }, input, list === "conditions" || state.draft[list].length > 1 ? remove : null),
      make("div", { class: "shown", id: `${id}-shown` }),
      make("p", { class: "wrong", id: `${id}-wrong`, role: "status" }),
      make("p", { class: "note", id: `${id}-note` }));
  }

  function drop(list, number) {
    state.draft[list].splice(number, 1);
    draw();
    (byId(`${list}-${Math.max(number - 1, 0)}`) ?? byId(list === "equations" ? "add-equation" : "add-condition")).focus();
    app.edit();
  }

  function add(list) {
    state.draft[list].push("");
    draw();
    byId(`${list}-${state.draft[list].length - 1}`).focus();
  }

  function lines(list) {
    byId(list).replaceChildren(...state.draft[list].map((text, number) => line(list, text, number)));
  }

  // Names ---------------------------------------------------------------------------------------------------------
  function named(name, number) {
    const typed = (label, entry, more = {}) => box(label, {
      id: `name-${number}-${entry}`, value: name[entry], inputmode: "decimal", maxlength: 40, "aria-describedby": `name-${number}-wrong`,
      oninput: (event) => { name[entry] = event.target.value; app.edit(); }, ...more,
    });
    const parts = [make("div", { class: "what" }, make("b", {}, name.name))];
    parts.push(choice("is", `name-${number}-kind`, KINDS, name.kind, (value) => { name.kind = value; names(); byId(`name-${number}-kind`).focus(); app.edit(); }, true));
    if (name.kind === "unknown") parts.push(typed("lowest", "low"), typed("start", "start"), typed("highest", "high"));
    if (name.kind === "constant") parts.push(typed("value", "value"));
    if (name.kind === "hidden") parts.push(typed("typical size", "value"));
    parts.push(make("p", { class: "wrong", id: `name-${number}-wrong`, role: "status" }));
    return make("li", { "data-name": name.name }, ...parts);
  }

  function names() {
    byId("named").hidden = !state.draft.names.length;
    byId("names").replaceChildren(...state.draft.names.map(named));
    judge();
  }

  // What the server says of it --------------------------------------------------------------------------------------
  function judgeLines(list) {
    state.feedback[list].forEach((line, number) => {
      const input = byId(`${list}-${number}`);
      if (!input || input.value !== state.draft[list][number]) return;
      byId(`${list}-${number}-shown`).replaceChildren(line.math ? mathematics(line.math) : "");
      byId(`${list}-${number}-wrong`).textContent = line.problem ? line.problem[0].toUpperCase() + line.problem.slice(1) : "";
      byId(`${list}-${number}-note`).textContent = line.notes.join(" ") || example(list, input.value);
      input.setAttribute("aria-invalid", String(Boolean(line.problem)));
    });
  }

  // An empty box shows how an equation of these columns is written.
  function example(list, text) {
    const known = list === "equations" && !text.trim() ? state.feedback.templates[0]?.equations[0] : "";
    return known ? `For example: ${known}` : "";
  }

  function judge() {
    judgeLines("equations");
    judgeLines("conditions");
    state.draft.names.forEach((name, number) => {
      const wrong = state.feedback.numbers[name.name], place = byId(`name-${number}-wrong`);
      if (place) place.textContent = wrong ? wrong[0].toUpperCase() + wrong.slice(1) : "";
    });
    // What stands beside a line already is not said twice.
    const beside = [...state.feedback.equations, ...state.feedback.conditions].some((line) => line.problem);
    say("equation-problem", beside || !state.draft.equations.some((text) => text.trim()) ? "" : state.feedback.equation);
  }

  function offer() {
    const select = byId("templates");
    select.replaceChildren(new Option(state.feedback.templates.length ? "Choose …" : "None is known for such columns", ""));
    state.feedback.templates.forEach((each, number) => select.add(new Option(`${each.title}:  ${each.equations.join(",  ")}`, number)));
    const { fields, coordinates } = state.feedback.names;
    byId("writing").textContent = `Measured here: ${fields.join(", ")}. Coordinates: ${coordinates.join(", ")}.`;
    byId("condition-example").textContent = `${fields[0] ?? "u"} = 0 at ${coordinates[0] ?? "x"} = 0`;
  }

  function draw() {
    offer();
    lines("equations");
    lines("conditions");
    if (state.draft.conditions.length) byId("conditions-part").open = true;
    names();
  }

  byId("add-equation").addEventListener("click", () => add("equations"));
  byId("add-condition").addEventListener("click", () => add("conditions"));
  byId("templates").addEventListener("change", (event) => {
    if (!event.target.value) return;
    state.draft.equations = [...state.feedback.templates[Number(event.target.value)].equations];
    draw();
    byId("equations-0").focus();
    app.edit();
  });
  app.equation = { draw, names, judge };
})();
