// The calls of a model in their order, with an arc from each call to those that read what it writes.
const [CALL_NAME, OPERATORS, LAUNCHES, READS, WRITES] = [0, 1, 2, 3, 4];
const ROW = 26, GUTTER = 84;

function findWriters() {  // [writer, reader, tensor] of each tensor that a call reads
  const last = new Map(), found = [];
  view.calls.forEach((call, n) => {
    for (const name of call[READS]) if (last.has(name)) found.push([last.get(name), n, name]);
    for (const name of call[WRITES]) last.set(name, n);
  });
  return found;
}

function drawArcs(arcs, rows) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("width", GUTTER); svg.setAttribute("height", rows * ROW); svg.setAttribute("aria-hidden", "true");
  return [svg, arcs.map(([writer, reader]) => {
    const path = document.createElementNS("http://www.w3.org/2000/svg", "path"), top = (writer + 0.5) * ROW, bottom = (reader + 0.5) * ROW;
    const reach = Math.max(4, GUTTER - 14 - 12 * (reader - writer));
    path.setAttribute("d", `M${GUTTER - 4} ${top}C${reach} ${top} ${reach} ${bottom} ${GUTTER - 4} ${bottom}`);
    svg.append(path);
    return path;
  })];
}

function showCalls(place, openFinding) {  // returns a function that shows the nth call
  const arcs = findWriters(), [svg, paths] = drawArcs(arcs, view.calls.length), list = make("ol"), about = make("div.about");
  const faulty = new Set(view.findings.flatMap(finding => finding.calls));
  const buttons = view.calls.map((call, n) => {
    const button = make(faulty.has(n) ? "button.bad" : call[LAUNCHES].length ? "button" : "button.soft", call[OPERATORS] ? `${call[OPERATORS]} · ${call[CALL_NAME]}` : call[CALL_NAME]);
    button.type = "button"; button.style.paddingLeft = GUTTER + 4 + "px"; button.title = button.textContent;
    button.onclick = () => choose(n);
    button.onkeydown = event => {
      const to = {ArrowDown: n + 1, ArrowUp: n - 1}[event.key];
      if (buttons[to]) { event.preventDefault(); buttons[to].focus(); choose(to); }
    };
    list.append(make("li", "", button));
    return button;
  });
  function choose(n) {
    const call = view.calls[n];
    buttons.forEach((button, k) => button.setAttribute("aria-pressed", k === n));
    arcs.forEach(([writer, reader], k) => paths[k].classList.toggle("on", writer === n || reader === n));
    about.replaceChildren(make("h3", call[OPERATORS] || call[CALL_NAME]));
    if (call[OPERATORS]) about.append(make("p.soft", `compiled to ${call[CALL_NAME]}`));
    if (!call[LAUNCHES].length) about.append(make("p.at", "The run did not come to it, or it launched nothing."));
    else about.append(makeTable(["kernel", "work-items", "group"], call[LAUNCHES].map(launch => [launch[0], launch[1], launch[2] || "chosen by the device"]), []));
    for (const [name, tensors] of [["reads", call[READS]], ["writes", call[WRITES]]]) {
      about.append(make("h3", name), make("ul", "", ...tensors.map(tensor => make("li", describeTensor(tensor)))));
    }
    view.findings.forEach((finding, k) => {
      if (!finding.calls.includes(n)) return;
      const button = make("button", `finding ${k + 1}`);
      button.type = "button"; button.onclick = () => openFinding(k);
      about.append(button);
    });
  }
  place.append(make("h2", "Calls"), make("p.soft", "In the order in which they run. An arc leads from a call to those that read what it writes; " +
    "calls with findings are bold, calls that were not reached grey. A click, or the arrow keys, show what a call launches, reads and writes."));
  place.append(make("div.graph", "", make("div.calls", "", svg, list), about));
  choose(faulty.size ? Math.min(...faulty) : 0);
  return n => { choose(n); buttons[n].scrollIntoView({block: "center"}); buttons[n].focus(); };
}
