// What every page of napinn shares: packed arrays, colours by name in a light or dark dress, and one way to draw.
"use strict";
const napinn = (() => {
  const root = document.documentElement;
  const byId = (name) => document.getElementById(name);
  const plain = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  const colour = (name) => getComputedStyle(root).getPropertyValue(`--${name}`).trim();
  const CONFIG = {
    responsive: true, displaylogo: false, displayModeBar: window.matchMedia("(hover: hover)").matches ? "hover" : false,
    modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"], toImageButtonOptions: { format: "svg" },
  };

  const TYPES = { f4: Float32Array, f8: Float64Array, i2: Int16Array, u1: Uint8Array, u2: Uint16Array, u4: Uint32Array };
  const unpacked = new Map();

  function unpack(entry) {
    if (!unpacked.has(entry)) {
      const bytes = Uint8Array.from(atob(entry.data), (mark) => mark.charCodeAt(0));
      const raw = new TYPES[entry.packed](bytes.buffer);
      const value = (q) => q === -32768 ? NaN : entry.low + ((q + 32767) / 65534) * entry.width;
      unpacked.set(entry, entry.low === undefined ? raw : Float32Array.from(raw, value));
    }
    return unpacked.get(entry);
  }

  // Names of colours, packed arrays and columns, wherever they stand in a figure, to what plotly draws.
  function resolve(value, column) {
    if (value === "@reliability") return [[0, colour("flagged")], [0.5, colour("between")], [1, colour("good")]];
    if (typeof value === "string") return value.startsWith("@") ? colour(value.slice(1)) : value;
    if (value === null || typeof value !== "object" || ArrayBuffer.isView(value)) return value;
    if (value.packed) return unpack(value);
    if (value.column) return column(value);
    if (Array.isArray(value)) return value.map((inner) => resolve(inner, column));
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, resolve(inner, column)]));
  }

  function axis(given) {
    return { gridcolor: "@grid", zerolinecolor: "@grid", linecolor: "@line", automargin: true, ...given,
      title: { standoff: 8, ...given.title } };
  }

  function show(id, figure, column) {
    const place = byId(id);
    if (!place) return;
    const layout = {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { color: "@ink", family: "inherit", size: 13 },
      margin: { l: 8, r: 12, t: 26, b: 8 }, hovermode: "closest", dragmode: window.innerWidth < 700 ? false : "zoom",
      legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom", traceorder: "normal" },
      modebar: { bgcolor: "@paper", color: "@soft", activecolor: "@ink" },
      hoverlabel: { bgcolor: "@card", bordercolor: "@line", font: { color: "@ink" } },
      ...Object.fromEntries(Object.entries(figure.layout).map(([key, value]) => [key, /^[xy]axis/.test(key) ? axis(value) : value])),
    };
    // A printer does not wait for a chart to notice its new size.
    if (root.classList.contains("printing")) Object.assign(layout, { width: place.clientWidth, height: place.clientHeight });
    Plotly.react(place, resolve(figure.data, column), resolve(layout, column), CONFIG);
  }

  function wear(dark) {
    root.dataset.theme = dark ? "dark" : "light";
    byId("theme").setAttribute("aria-pressed", String(dark));
  }

  // Applies the theme that the reader prefers, and redraws when the preference or the button changes.
  function dress(redraw) {
    const wishesDark = window.matchMedia("(prefers-color-scheme: dark)");
    wear(wishesDark.matches);
    wishesDark.addEventListener("change", () => { wear(wishesDark.matches); redraw(); });
    // Charts of a narrow screen have their legends and scales elsewhere.
    window.matchMedia("(max-width: 600px)").addEventListener("change", () => redraw());
    byId("theme").addEventListener("click", () => { wear(root.dataset.theme !== "dark"); redraw(); });
    // Paper is light and narrow, whatever the screen wears.
    let worn = root.dataset.theme;
    window.addEventListener("message", (event) => {
      // A report in the page of the app is as light or dark as that page.
      if (event.source !== window.parent || !["light", "dark"].includes(event.data?.napinnTheme)) return;
      if (root.dataset.theme === event.data.napinnTheme) return;
      wear(event.data.napinnTheme === "dark");
      redraw();
    });
    const print = (begins) => {
      if (begins) worn = root.dataset.theme;
      root.classList.toggle("printing", begins);
      wear(!begins && worn === "dark");
      redraw();
    };
    window.addEventListener("beforeprint", () => print(true));
    window.addEventListener("afterprint", () => print(false));
  }

  return { root, byId, plain, unpack, show, dress };
})();
