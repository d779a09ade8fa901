// What every part of the app shares: the key of this launch, requests to the server, and small helpers for elements.
"use strict";
const app = (() => {
  const KEY = "napinn-key";
  const state = { id: null, draft: null, revision: 0, feedback: null, fit: null, charts: [], edited: false, saving: false };

  // The address that was printed holds the key; it is kept for reloads and other tabs of this server and then hidden.
  function takeKey() {
    const found = /^#token=([\w-]+)$/.exec(location.hash);
    if (!found) return;
    localStorage.setItem(KEY, found[1]);
    history.replaceState(null, "", "#/");
  }

  class Refusal extends Error {
    constructor(code, sentence) { super(sentence); this.code = code; }
  }

  async function ask(path, options = {}) {
    const headers = { "X-Napinn-Token": localStorage.getItem(KEY) ?? "", ...options.headers };
    const answer = await fetch(path, { cache: "no-store", ...options, headers });
    const content = await answer.json();
    if (!answer.ok) throw new Refusal(answer.status, content.problem);
    return content;
  }

  // A short request is sent to its end although the page is being closed; browsers allow 64 kB of these.
  function send(path, content = {}) {
    const body = JSON.stringify(content);
    return ask(path, { method: "POST", body, keepalive: body.length < 50000, headers: { "Content-Type": "application/json" } });
  }

  const upload = (file) =>
    ask("api/upload", { method: "POST", body: file, headers: { "Content-Type": "application/octet-stream", "X-File-Name": encodeURIComponent(file.name) } });

  // Elements -----------------------------------------------------------------------------------------------------
  function make(tag, given = {}, ...inside) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(given)) {
      if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else if (value === true) element.setAttribute(name, "");
      else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
    }
    element.append(...inside.filter((part) => part !== null));
    return element;
  }

  // A box with its label above; `given.id` ties them together.
  function box(label, given, kind = "input", inside = [], wide = false) {
    const control = make(kind, { autocomplete: "off", spellcheck: "false", ...given }, ...inside);
    if (kind === "input" && given.value !== undefined) control.value = given.value;
    return make("div", { class: wide ? "wide-cell" : null }, make("label", { for: given.id }, label), control);
  }

  function choice(label, id, options, chosen, changed, wide = false) {
    const inside = options.map(([value, text]) => { const option = new Option(text, value); option.selected = value === chosen; return option; });
    return box(label, { id, onchange: (event) => changed(event.target.value) }, "select", inside, wide);
  }

  // Mathematics comes from the server, which has escaped every name in it.
  function mathematics(markup) {
    const held = document.createElement("template");
    held.innerHTML = markup;
    return held.content;
  }

  const byId = (name) => document.getElementById(name);

  // The name of a file at the beginning of a sentence stays as it is.
  const capital = (text) => /^\p{L}+ /u.test(text) ? text[0].toUpperCase() + text.slice(1) : text;

  function say(id, sentence) {
    const place = byId(id);
    const text = sentence ? capital(sentence) : "";
    if (place.textContent !== text) place.textContent = text;
    place.hidden = !text;
  }

  function fail(error) {
    if (error instanceof Refusal && error.code === 403) return app.lock();
    say("notice", error instanceof Refusal ? error.message : "The napinn server does not answer. Start napinn app again; nothing is lost.");
  }

  return { state, takeKey, ask, send, upload, make, box, choice, mathematics, byId, say, fail, Refusal };
})();
