// The place of a tensor in the memory plan: time to the right, bytes upwards.
const [NAME, STORAGE, BASE, OFFSET, SIZE, DENSE, FIRST, LAST, SHAPE, DTYPE, SCOPE, PRODUCER] = [...Array(12).keys()];

function describeTensor(name) {
  const tensor = view.tensors.find(one => one[NAME] === name);
  if (!tensor) return name;
  return `${name}: ${tensor[DTYPE]} ${tensor[SHAPE]}, ${tensor[SCOPE]}, ${comma(tensor[SIZE])} bytes`;
}

function showPlan(chosen) {
  const tensor = view.tensors[chosen], svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const end = Math.max(...view.tensors.map(one => one[LAST])) + 1;
  const total = Math.max(view.planned, ...view.tensors.map(one => one[BASE] + one[OFFSET] + one[SIZE]), 1);
  svg.setAttribute("class", "plan"); svg.setAttribute("role", "img"); svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("viewBox", "0 0 1000 1000");
  view.tensors.forEach((one, n) => {
    const rect = document.createElementNS("http://www.w3.org/2000/svg", "rect"), title = document.createElementNS("http://www.w3.org/2000/svg", "title");
    const low = one[BASE] + one[OFFSET];
    rect.setAttribute("x", one[FIRST] / end * 1000); rect.setAttribute("width", (one[LAST] + 1 - one[FIRST]) / end * 1000);
    rect.setAttribute("y", (1 - (low + one[SIZE]) / total) * 1000); rect.setAttribute("height", one[SIZE] / total * 1000);
    if (n === chosen) rect.setAttribute("class", "on");
    title.textContent = `${one[NAME]} ${one[PRODUCER]}`;
    rect.append(title); svg.append(rect);
  });
  const mates = view.tensors.filter(one => one !== tensor && one[STORAGE] === tensor[STORAGE]).map(one => one[NAME]);
  const shared = mates.length ? `its storage also holds ${mates.slice(0, 8).join(", ")}${mates.length > 8 ? ` and ${mates.length - 8} more` : ""}, at other times or other bytes` :
    "its storage holds nothing else";
  const padding = tensor[SIZE] - tensor[DENSE];
  svg.setAttribute("aria-label", `memory plan with ${tensor[NAME]} marked`);
  return [make("h3", `${tensor[NAME]} in the memory plan`), svg,
    make("p.at", `${tensor[PRODUCER] ? `made by ${tensor[PRODUCER]}: ` : ""}${tensor[DTYPE]} ${tensor[SHAPE]}, ${tensor[SCOPE]}\n` +
      `${comma(tensor[SIZE])} bytes${padding > 0 ? ` with ${comma(padding)} of padding` : ""}, at byte ${comma(tensor[OFFSET])} of storage ${tensor[STORAGE]}; ` +
      `live from ${tensor[FIRST]} to ${tensor[LAST]}; ${shared}`)];
}
