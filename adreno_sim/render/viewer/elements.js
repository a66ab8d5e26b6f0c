// An array element by element: what a launch left beside what was expected. Rows are those of the image, or of the last dimensions.
const view = JSON.parse(document.getElementById("view").textContent);
const TYPES = {f4: Float32Array, f8: Float64Array, i1: Int8Array, u1: Uint8Array, i2: Int16Array, u2: Uint16Array, i4: Int32Array,
  u4: Uint32Array, i8: BigInt64Array, u8: BigUint64Array};
const TALLEST = 15000;  // pixels of a canvas
const LOW = [238, 244, 252], HIGH = [16, 78, 150];  // colours of the least and the largest value
const comma = n => n.toString().replace(/\B(?=(\d{3})+(?!\d))/g, ",");

function make(tag, text, ...parts) {  // an element; text may hold anything
  const [name, kind] = tag.split("."), made = document.createElement(name);
  if (kind) made.className = kind;
  if (text) made.append(text);
  made.append(...parts);
  return made;
}

function makeTable(heads, rows, figures) {
  const table = make("table", "", make("thead", "", make("tr", "", ...heads.map(head => make("th", head)))));
  const lines = rows.map(row => make("tr", "", ...row.map((cell, n) => make(figures.includes(n) ? "td.n" : "td", String(cell)))));
  table.append(make("tbody", "", ...lines));
  return make("div.scroll", "", table);
}

function unpack(packed) {
  if (packed === null) return null;
  return new TYPES[packed[0]](Uint8Array.from(atob(packed[1]), char => char.charCodeAt(0)).buffer);
}

function readArray(number) {  // the numbers are unpacked when they are first shown
  const array = view.arrays[number];
  if (array.values) return array;
  array.values = unpack(array.got);
  array.right = unpack(array.expected);
  array.bad = new Set(array.wrong || []);
  let low = Infinity, high = -Infinity;
  for (const values of [array.values, array.right || []]) for (const value of values) {
    const number = Number(value);
    if (Number.isFinite(number)) { low = Math.min(low, number); high = Math.max(high, number); }
  }
  array.low = low; array.span = high > low ? high - low : 1;
  return array;
}

const spell = value => typeof value === "bigint" ? value.toString() : Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(9)));

function placeOf(array, element) {  // of the whole array, in words
  const index = [];
  let rest = element;
  for (const size of [...array.shape].reverse()) { index.unshift(rest % size); rest = Math.floor(rest / size); }
  if (!array.texel) return `[${index.join(", ")}]`;
  const [layer, y, x, channel] = index;
  return `texel (${x}, ${y}${array.shape[0] > 1 ? `, ${layer}` : ""}), channel ${"xyzw"[channel] || channel}`;
}

function describe(array, n) {
  const got = array.values[n], said = [`${array.name} ${placeOf(array, array.first + n)}`, `got ${spell(got)}`];
  if (array.right) {
    const right = array.right[n];
    said.push(`expected ${spell(right)}`);
    if (array.bad.has(n)) said.push(`wrong, off by ${spell(Number(Math.abs(Number(got) - Number(right)).toPrecision(4)))}`);
  }
  return said.join(" · ");
}

function sizeCells(array) {
  const rows = Math.ceil(array.values.length / array.row), shown = (array.row <= 16 || array.values.length <= 1024) && rows * 22 <= TALLEST;
  const small = array.row <= 64 ? 12 : 6;
  return {rows, shown, wide: shown ? 52 : small, tall: shown ? 22 : Math.max(1, Math.min(small, Math.floor(TALLEST / rows)))};
}

function paint(canvas, array, values, chosen, marked) {
  const {rows, shown, wide, tall} = sizeCells(array), scale = Math.min(window.devicePixelRatio || 1, 2), draw = canvas.getContext("2d");
  canvas.width = (array.row * wide + 2) * scale; canvas.height = (rows * tall + 2) * scale;
  canvas.style.width = array.row * wide + 2 + "px"; canvas.style.height = rows * tall + 2 + "px";
  draw.scale(scale, scale); draw.translate(1, 1);
  draw.font = "11px ui-monospace, monospace"; draw.textAlign = "center"; draw.textBaseline = "middle";
  const odd = theme.colour("shade"), error = theme.colour("error"), ink = theme.colour("ink"), line = theme.colour("paper");
  for (let n = 0; n < values.length; n++) {
    const x = n % array.row * wide, y = Math.floor(n / array.row) * tall, value = Number(values[n]);
    const part = (value - array.low) / array.span, mix = LOW.map((low, k) => Math.round(low + part * (HIGH[k] - low)));
    draw.fillStyle = Number.isFinite(value) ? `rgb(${mix})` : odd;
    draw.fillRect(x, y, wide, tall);
    if (tall > 3) { draw.fillStyle = line; draw.fillRect(x + wide - 1, y, 1, tall); draw.fillRect(x, y + tall - 1, wide, 1); }
    if (shown) {
      draw.fillStyle = !Number.isFinite(value) ? ink : part > 0.5 ? "#ffffff" : "#1f2328";
      draw.fillText(Number.isFinite(value) ? String(Number(value.toPrecision(4))) : String(value), x + wide / 2 - 1, y + tall / 2);
    }
    if (marked && array.bad.has(n)) {
      draw.fillStyle = error;
      draw.fillRect(x, y + tall - Math.max(1, tall / 4), wide - 1, Math.max(1, tall / 4));
    }
  }
  if (array.texel) {
    draw.fillStyle = ink;
    for (let x = array.texel; x < array.row; x += array.texel) draw.fillRect(x * wide - 1, 0, 1, rows * tall);
  }
  if (chosen >= 0) {
    draw.strokeStyle = ink; draw.lineWidth = 3;
    draw.strokeRect(chosen % array.row * wide, Math.floor(chosen / array.row) * tall, wide - 1, tall - 1);
  }
}

function showArray(number, element) {  // element: of the whole array, -1 for none
  const array = readArray(number), count = array.values.length, box = make("div"), pair = make("div.pair"), at = make("p.at");
  let chosen = element >= array.first && element < array.first + count ? element - array.first : array.wrong?.[0] ?? 0;
  at.setAttribute("role", "status");
  const pictures = [["got", array.values], ["expected", array.right]].filter(one => one[1]).map(([name, values]) => {
    const canvas = make("canvas"), frame = make("div.picture", "", canvas);
    canvas.tabIndex = 0;
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", `${array.name}, ${name}: arrow keys move from element to element, n to the next wrong one`);
    canvas.onclick = event => {
      const {wide, tall} = sizeCells(array), column = Math.floor((event.offsetX - 1) / wide);
      if (column < array.row) choose(Math.floor((event.offsetY - 1) / tall) * array.row + column);
    };
    canvas.onkeydown = event => {
      const steps = {ArrowRight: 1, ArrowLeft: -1, ArrowDown: array.row, ArrowUp: -array.row, Home: -chosen, End: count - 1 - chosen};
      if (event.key === "n") nextWrong(); else if (event.key in steps) choose(chosen + steps[event.key]); else return;
      event.preventDefault();
    };
    pair.append(make("figure", "", make("figcaption", name), frame));
    return {canvas, values, frame};
  });
  function choose(n) {
    if (n < 0 || n >= count) return;
    chosen = n;
    redraw();
    const {wide, tall} = sizeCells(array), x = n % array.row * wide, y = Math.floor(n / array.row) * tall;
    for (const {frame} of pictures) {  // the element stays in sight
      frame.scrollLeft = Math.min(Math.max(frame.scrollLeft, x + wide * 2 - frame.clientWidth), Math.max(0, x - wide));
      frame.scrollTop = Math.min(Math.max(frame.scrollTop, y + tall * 2 - frame.clientHeight), Math.max(0, y - tall));
    }
  }
  function redraw() {
    for (const {canvas, values} of pictures) paint(canvas, array, values, chosen, values === array.values);
    at.textContent = describe(array, chosen);
  }
  function nextWrong() {
    const places = array.wrong || [];
    if (places.length) choose(places.find(place => place > chosen) ?? places[0]);
  }
  const whole = array.shape.reduce((product, size) => product * size, 1), part = whole > count;
  const kept = part ? `; elements ${comma(array.first)} to ${comma(array.first + count - 1)} of ${comma(whole)} are kept` : "";
  const bad = array.right ? `; ${comma(array.bad.size)} of ${comma(count)} wrong, underlined in red` : "; nothing is expected of it";
  box.append(make("p.soft", `${array.name}: ${array.dtype} ${array.shape.join("x")}${array.texel ? ", an image" : ""}${kept}${bad}`), pair, at);
  if (array.bad.size) {
    const next = make("button", "next wrong element");
    next.type = "button"; next.onclick = nextWrong;
    box.append(next);
  }
  requestAnimationFrame(() => choose(chosen));
  theme.onChange(redraw);
  return box;
}
