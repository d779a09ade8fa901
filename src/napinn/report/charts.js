// A page that holds charts and no field: draws all charts of the bundle, again when its dress changes.
"use strict";
(() => {
  const bundle = JSON.parse(document.getElementById("bundle").textContent);
  const draw = () => Object.entries(bundle.charts).forEach(([id, figure]) => napinn.show(id, figure, () => []));
  napinn.dress(draw);
  draw();
  napinn.root.dataset.drawn = "yes";
})();
