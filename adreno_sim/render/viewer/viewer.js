// What a page of findings shows when one looks closer. Data: see view_data in data.py.
const details = [...document.querySelectorAll("details[data-finding]")];
let showCall = null;

function showStores(finding) {
  const parts = [];
  if (finding.earlier) {
    const [does, line, item] = finding.earlier;
    parts.push(make("p.at", `Two accesses meet here: before the one above, work-item (${item}) ${does} it in line ${line}.`));
  }
  if (finding.stores === null) {
    parts.push(make("p.soft", "Other writes to this place are not known: stores are recorded of one element of an argument, when a launch runs again for it."));
    return [make("h3", "Writes"), ...parts];
  }
  parts.unshift(make("h3", "Writes to this element, in order"));
  if (!finding.stores.length) return [...parts, make("p.at", "No store touched it: it holds what the memory held before.")];
  const rows = finding.stores.map(([value, item, local, kernel, line, source], n) => [n + 1, value, `(${item})`, `(${local})`, `${kernel}:${line}`, source]);
  parts.push(makeTable(["", "value", "work-item", "in its group", "line", "source"], rows, [0, 1]));
  if (finding.more) parts.push(make("p.soft", `and ${comma(finding.more)} more`));
  parts.push(make("p.soft", "The last one remains. This is the order in which the simulator ran them; work-items of a device run in any order."));
  return parts;
}

function showFinding(n) {
  const finding = view.findings[n], box = make("div.look"), [got, golden] = finding.values;
  if (got) box.append(make("p.at", `got ${got}, expected ${golden}`));
  if (finding.stores !== null || finding.earlier || finding.array >= 0) box.append(...showStores(finding));
  if (finding.array >= 0) box.append(make("h3", `${view.arrays[finding.array].name}, element by element`), showArray(finding.array, finding.at));
  if (finding.tensor >= 0) box.append(...showPlan(finding.tensor));
  for (const call of finding.calls) if (showCall) {
    const button = make("button", "show its call");
    button.type = "button"; button.onclick = () => showCall(call);
    box.append(button);
  }
  if (box.childNodes.length) details[n].append(box);
}

function openFinding(n) {
  details[n].open = true;
  const summary = details[n].querySelector("summary");
  summary.scrollIntoView({block: "start"});
  summary.focus();
}

function showArrays(place) {
  const tabs = make("div.tabs"), shown = make("div");
  const buttons = view.arrays.map((array, n) => {
    const button = make("button", array.kernel && view.calls.length > 1 ? `${array.name} of ${array.kernel}` : array.name);
    button.type = "button";
    button.onclick = () => {
      buttons.forEach((one, k) => one.setAttribute("aria-pressed", k === n));
      shown.replaceChildren(showArray(n, -1));
    };
    tabs.append(button);
    return button;
  });
  place.append(make("h2", "Elements"), tabs, shown);
  buttons[0].click();
}

const place = document.getElementById("looks");
if (place && view.calls.length > 1) showCall = showCalls(place, openFinding);
const pointed = new Set(view.findings.map(finding => finding.array));
if (place && view.arrays.some((_, n) => !pointed.has(n))) showArrays(place);
for (const sentence of view.cut) place?.append(make("p.soft", `left out: ${sentence}`));
details.forEach((one, n) => {
  const fill = () => { if (one.open && !one.dataset.filled) { one.dataset.filled = "yes"; showFinding(n); } };
  one.addEventListener("toggle", fill);
  fill();
});
document.body.dataset.fits = document.documentElement.scrollWidth <= window.innerWidth;
