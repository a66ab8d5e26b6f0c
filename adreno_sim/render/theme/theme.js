"use strict";
// The switch of every page: as the system has it, light, dark. `theme.colour` gives a colour of the style sheet for a canvas.
const theme = (() => {
  const root = document.documentElement, button = document.getElementById("scheme"), ways = ["auto", "light", "dark"];
  const probe = document.createElement("i"), listeners = [];
  document.body.append(probe);
  probe.hidden = true;
  function set(way) {
    root.dataset.scheme = way;
    button.textContent = way;
    button.setAttribute("aria-label", `colours: ${way}`);
    try { localStorage.setItem("adreno-sim-scheme", way); } catch { /* a page of a file may keep nothing */ }
    for (const listener of listeners) listener();
  }
  let kept = "auto";
  try { kept = localStorage.getItem("adreno-sim-scheme") || kept; } catch { /* the same */ }
  set(ways.includes(kept) ? kept : "auto");
  button.hidden = false;
  button.onclick = () => set(ways[(ways.indexOf(root.dataset.scheme) + 1) % ways.length]);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => listeners.forEach(one => one()));
  return {
    colour(name) { probe.style.color = `var(--${name})`; return getComputedStyle(probe).color; },
    onChange(listener) { listeners.push(listener); },
  };
})();
