"use strict";
// Data: see plan_html.page_data. Times and bytes become pixels through `view`; nothing is drawn outside it.
const data = JSON.parse(document.getElementById("data").textContent);
const [ID, SHAPE, DTYPE, SCOPE, SIZE, DENSE, START, END, MAKER] = [0, 1, 2, 3, 4, 5, 6, 7, 8];
let INK, SOFT, GRID, PAPER, PEAK;  // of the colour scheme
const LABEL = "#1f2328";  // on a pale box, in both schemes
const LEFT = 70, RIGHT = 16, TOP = 14, BOTTOM = 40;
const MANY = 3000;  // tensors from which those below a pixel are only marks

const tensors = data.tensors;
const lives = n => plan.lives ? plan.lives[n] : [tensors[n][START], tensors[n][END]];  // a plan may have an order of its own
let plan = data.plans.find(p => p.planner === data.planner);
let view = null;      // {t0, t1, b0, b1}: the part of times and bytes that is shown
let chosen = -1;      // tensor under the pointer

const element = id => document.getElementById(id);
const comma = n => n.toString().replace(/\B(?=(\d{3})+(?!\d))/g, ",");
function everything() {
  let t0 = Infinity, t1 = -Infinity;
  tensors.forEach((_, n) => { const [start, end] = lives(n); t0 = Math.min(t0, start); t1 = Math.max(t1, end); });
  if (!tensors.length) [t0, t1] = [0, 1];
  return {t0, t1, b0: 0, b1: Math.max(plan.total, plan.bound, 1) * 1.04};
}

function ticks(low, high, about) {
  const rough = (high - low) / about, power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find(f => power * f >= rough);
  const found = [];
  for (let n = Math.ceil(low / step - 1e-9); n * step <= high + 1e-9; n++) found.push(Number((n * step).toPrecision(12)));
  return found;
}

function prepare(canvas) {  // a backing store as dense as the screen; data-height is the height in CSS pixels
  const scale = window.devicePixelRatio || 1, width = canvas.clientWidth || 1100, height = Number(canvas.dataset.height);
  canvas.style.height = height + "px";
  canvas.width = width * scale;
  canvas.height = height * scale;
  const draw = canvas.getContext("2d");
  draw.scale(scale, scale);
  draw.font = "12px system-ui, sans-serif";
  return {draw, width, height};
}

function axes(area, low, high, unit, name) {
  const {draw, width, height} = area, y = b => height - BOTTOM - (b - low) / (high - low) * (height - TOP - BOTTOM);
  const x = t => LEFT + (t - view.t0) / (view.t1 - view.t0) * (width - LEFT - RIGHT);
  draw.textAlign = "right"; draw.textBaseline = "middle"; draw.lineWidth = 1;
  for (const value of ticks(low / unit, high / unit, Math.max(2, Math.round((height - TOP - BOTTOM) / 55)))) {
    draw.strokeStyle = GRID; draw.beginPath(); draw.moveTo(LEFT, y(value * unit)); draw.lineTo(width - RIGHT, y(value * unit));
    draw.stroke(); draw.fillStyle = SOFT; draw.fillText(value.toString(), LEFT - 8, y(value * unit));
  }
  draw.textAlign = "center"; draw.textBaseline = "top";
  for (const value of ticks(view.t0, view.t1, width < 600 ? 5 : 12)) {
    if (Number.isInteger(value)) draw.fillText(value.toString(), x(value), height - BOTTOM + 6);
  }
  draw.fillStyle = INK;
  draw.fillText(data.time, (LEFT + width - RIGHT) / 2, height - 16);
  draw.save(); draw.translate(12, (TOP + height - BOTTOM) / 2); draw.rotate(-Math.PI / 2); draw.fillText(name, 0, -6); draw.restore();
  return {x, y};
}

function clip(area) {
  const {draw, width, height} = area;
  draw.save(); draw.beginPath(); draw.rect(LEFT, TOP, width - LEFT - RIGHT, height - TOP - BOTTOM); draw.clip();
}

function horizontal(area, y, colour, dashes) {
  const {draw, width} = area;
  draw.strokeStyle = colour; draw.lineWidth = 1.6; draw.setLineDash(dashes); draw.beginPath();
  draw.moveTo(LEFT, y); draw.lineTo(width - RIGHT, y); draw.stroke(); draw.setLineDash([]);
}

function drawLive() {  // by scope, stacked: the sums at every time that changes one
  const area = prepare(element("live")), {draw} = area, [unit, name] = data.unit;
  const most = Math.max(plan.bound, 1) * 1.08, {x, y} = axes(area, 0, most, unit, `live (${name})`);
  const curves = plan.live || data.live;
  const at = [...new Set(Object.values(curves).flatMap(curve => curve.map(point => point[0])))].sort((a, b) => a - b);
  const below = new Map(at.map(time => [time, 0]));
  clip(area);
  for (const scope of data.scopes) {
    const curve = curves[scope.name], outline = [];
    let place = 0, live = 0;
    for (const time of at) {
      while (place < curve.length && curve[place][0] <= time) live = curve[place++][1];
      outline.push([time, below.get(time), below.get(time) + live]);
      below.set(time, below.get(time) + live);
    }
    draw.fillStyle = scope.colour; draw.globalAlpha = 0.85;
    for (let n = 0; n + 1 < outline.length; n++) {
      const [time, low, high] = outline[n], next = outline[n + 1][0];
      if (high > low) draw.fillRect(x(time), y(high), Math.max(x(next) - x(time), 0.5), y(low) - y(high));
    }
    draw.globalAlpha = 1;
  }
  horizontal(area, y(plan.bound), INK, [7, 4]);
  draw.restore();
}

function box(n, x, y) {
  const t = tensors[n], low = plan.bases[plan.of[n]] + plan.at[n];
  const [start, end] = lives(n);
  return [x(start), y(low + t[SIZE]), x(end) - x(start), y(low) - y(low + t[SIZE])];
}

let place = null;     // {x, y} of the last drawing
function drawPlan() {
  const area = prepare(element("plan")), {draw, width} = area, [unit, name] = data.unit;
  place = axes(area, view.b0, view.b1, unit, `offset (${name})`);
  const {x, y} = place, crowded = tensors.length > MANY;
  let drawn = 0, hidden = 0;
  clip(area);
  for (let n = 0; n < tensors.length; n++) {
    const t = tensors[n], low = plan.bases[plan.of[n]] + plan.at[n];
    const [start, end] = lives(n);
    if (end < view.t0 || start > view.t1 || low > view.b1 || low + t[SIZE] < view.b0) continue;
    const [left, top, wide, tall] = box(n, x, y);
    if (crowded && (wide < 1 || tall < 1)) {
      draw.globalAlpha = 0.6; draw.fillStyle = data.scopes[t[SCOPE]].colour;
      draw.fillRect(left, top, Math.max(wide, 1), Math.max(tall, 1));
      hidden++;
      continue;
    }
    draw.globalAlpha = 1; draw.fillStyle = data.scopes[t[SCOPE]].colour;
    draw.fillRect(left, top, wide, tall);
    draw.globalAlpha = 0.55; draw.fillStyle = "#ffffff";
    draw.fillRect(left, top, wide, tall * (t[SIZE] - t[DENSE]) / t[SIZE]);
    draw.globalAlpha = 1; draw.lineWidth = 0.8; draw.strokeStyle = PAPER;
    if (wide > 3 && tall > 3) draw.strokeRect(left, top, wide, tall);
    if (tall > 14 && wide > 40) label(draw, t, left, top, wide, tall);
    drawn++;
  }
  draw.setLineDash([1, 3]); draw.strokeStyle = SOFT; draw.lineWidth = 1;
  if (plan.bases.length <= 400) for (const base of plan.bases.slice(1)) {
    draw.beginPath(); draw.moveTo(LEFT, y(base)); draw.lineTo(width - RIGHT, y(base)); draw.stroke();
  }
  draw.setLineDash([]);
  horizontal(area, y(plan.bound), INK, [7, 4]);
  horizontal(area, y(plan.total), PEAK, Math.abs(y(plan.bound) - y(plan.total)) < 2 ? [2, 2] : []);
  if (chosen >= 0) { draw.strokeStyle = INK; draw.lineWidth = 2; draw.strokeRect(...box(chosen, x, y)); }
  draw.restore();
  const more = hidden ? `; ${comma(hidden)} smaller than a pixel are marks until you zoom in` : "";
  element("status").textContent = `${comma(drawn)} of ${comma(tensors.length)} tensors drawn${more}`;
  document.body.dataset.drawn = drawn;
}

function label(draw, t, left, top, wide, tall) {  // the operators of the model, one below the other where that fits better
  const name = t[MAKER] || t[ID], parts = name.split(", "), full = t[SHAPE] ? `${name}  ${t[SHAPE]}` : name;
  const ways = [[full], [name], parts, parts.slice(-1), [t[ID]]];
  draw.font = "11px system-ui, sans-serif"; draw.textAlign = "center"; draw.textBaseline = "middle";
  const lines = ways.find(way => way.length * 13 < tall && way.every(text => draw.measureText(text).width < wide - 8)) || [];
  draw.fillStyle = LABEL;
  lines.forEach((text, n) => draw.fillText(text, left + wide / 2, top + tall / 2 + (n - (lines.length - 1) / 2) * 13));
  draw.font = "12px system-ui, sans-serif";
}

function describe(n) {
  const t = tensors[n], kind = t[SHAPE] ? `${t[DTYPE]} ${t[SHAPE]}, ${data.scopes[t[SCOPE]].name}\n` : "";
  const maker = t[MAKER] ? `made by ${t[MAKER]}\n` : "";
  return `${t[ID]}\n${maker}${kind}${comma(t[SIZE])} bytes with ${comma(t[SIZE] - t[DENSE])} of padding\n` +
    `storage ${plan.of[n]}, offset ${comma(plan.at[n])}\nlive from ${lives(n)[0]} to ${lives(n)[1] - 1}`;
}

function select(n, left, top) {
  const tip = element("tip");
  if (n !== chosen) { chosen = n; drawPlan(); }
  tip.hidden = n < 0;
  if (n < 0) return;
  tip.textContent = describe(n);
  tip.style.left = Math.max(Math.min(left + 14, window.innerWidth - tip.offsetWidth - 8), 8) + "px";
  tip.style.top = Math.max(Math.min(top + 14, window.innerHeight - tip.offsetHeight - 8), 8) + "px";
}

function tensorAt(px, py) {
  for (let n = tensors.length - 1; n >= 0; n--) {
    const [left, top, wide, tall] = box(n, place.x, place.y);
    if (px >= left && px < left + Math.max(wide, 1) && py >= top && py < top + Math.max(tall, 1)) return n;
  }
  return -1;
}

function table() {
  const body = document.querySelector("#figures tbody"), most = Math.max(...data.plans.map(p => p.total), 1);
  for (const each of data.plans) {
    const row = body.insertRow(), ratio = each.bound ? each.total / each.bound : 1;
    for (const text of [each.planner, comma(each.total), ratio.toFixed(3), comma(each.storages.length), each.peak ? comma(each.peak) : "-"]) {
      row.insertCell().textContent = text;
    }
    const bar = document.createElement("span"), cell = row.insertCell();
    bar.style.width = 100 * each.total / most + "%"; cell.className = "bar"; cell.append(bar);
    row.tabIndex = 0; row.title = each.note || `show the plan of ${each.planner}`;
    row.onclick = () => show(each);
    row.onkeydown = event => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); show(each); } };
  }
}

function show(next) {
  plan = next;
  view = everything();
  chosen = -1;
  element("tip").hidden = true;
  document.querySelectorAll("#figures tbody tr").forEach((row, n) => row.setAttribute("aria-selected", data.plans[n] === plan));
  const count = plan.storages.length;
  element("shown").textContent =
    `Plan ${plan.planner}: ${comma(plan.total)} bytes in ${comma(count)} storage${count === 1 ? "" : "s"}, lower bound ${comma(plan.bound)}`;
  redraw();
}

function redraw() {
  [INK, SOFT, GRID, PAPER, PEAK] = ["ink", "soft", "line", "paper", "peak"].map(theme.colour);
  drawLive();
  drawPlan();
}

function legend() {
  const parts = data.scopes.map(s => [`background:${s.colour}`, "", s.name]);
  parts.push(["background:#c9c9d2;border-top:6px solid #f1f1f4", "", "padding (pale band)"]);
  parts.push(["border-color:var(--ink)", "line dashed", "lower bound: most bytes live at one time"]);
  parts.push(["border-color:var(--peak)", "line", "bytes of the plan"]);
  for (const [style, kind, text] of parts) {
    const span = document.createElement("span"), mark = document.createElement("i");
    mark.style.cssText = style; mark.className = kind; span.append(mark, text); element("legend").append(span);
  }
}

function zoom(factor, px, py, bytes) {
  const canvas = element("plan"), wide = canvas.clientWidth - LEFT - RIGHT, tall = canvas.clientHeight - TOP - BOTTOM;
  if (bytes) {
    const at = view.b0 + (canvas.clientHeight - BOTTOM - py) / tall * (view.b1 - view.b0);
    view.b0 = at - (at - view.b0) * factor; view.b1 = at + (view.b1 - at) * factor;
  } else {
    const at = view.t0 + (px - LEFT) / wide * (view.t1 - view.t0);
    view.t0 = at - (at - view.t0) * factor; view.t1 = at + (view.t1 - at) * factor;
  }
  const all = everything();
  view = {t0: Math.max(view.t0, all.t0), t1: Math.min(view.t1, all.t1), b0: Math.max(view.b0, 0), b1: Math.min(view.b1, all.b1)};
  redraw();
}

function listen() {
  const canvas = element("plan");
  let held = null;
  canvas.addEventListener("wheel", event => {
    event.preventDefault();
    zoom(Math.exp((event.deltaY || event.deltaX) / 500), event.offsetX, event.offsetY, event.shiftKey);
  }, {passive: false});
  canvas.addEventListener("pointerdown", event => { held = {x: event.offsetX, y: event.offsetY, view: {...view}}; });
  window.addEventListener("pointerup", () => { held = null; });
  canvas.addEventListener("pointermove", event => {
    if (!held) { select(tensorAt(event.offsetX, event.offsetY), event.clientX, event.clientY); return; }
    const dt = (event.offsetX - held.x) / (canvas.clientWidth - LEFT - RIGHT) * (held.view.t1 - held.view.t0);
    const db = (event.offsetY - held.y) / (canvas.clientHeight - TOP - BOTTOM) * (held.view.b1 - held.view.b0);
    const all = everything(), t = Math.min(Math.max(-dt, all.t0 - held.view.t0), all.t1 - held.view.t1);
    const b = Math.min(Math.max(db, -held.view.b0), all.b1 - held.view.b1);
    view = {t0: held.view.t0 + t, t1: held.view.t1 + t, b0: held.view.b0 + b, b1: held.view.b1 + b};
    redraw();
  });
  canvas.addEventListener("pointerleave", () => select(-1, 0, 0));
  canvas.addEventListener("dblclick", () => show(plan));
  window.addEventListener("keydown", event => { if (event.key === "Escape") show(plan); });
  window.addEventListener("resize", redraw);
}

document.querySelectorAll("#attack tbody tr").forEach(row => {  // shows where the tensor lies
  const find = () => {
    const n = tensors.findIndex(t => t[ID] === row.dataset.tensor), canvas = element("plan");
    canvas.scrollIntoView({block: "center"});
    const [left, top] = box(n, place.x, place.y), frame = canvas.getBoundingClientRect();
    select(n, frame.left + left, frame.top + top);
  };
  row.onclick = find;
  row.onkeydown = event => { if (event.key === "Enter") find(); };
});
table();
legend();
show(plan);
listen();
theme.onChange(redraw);
const asked = decodeURIComponent(location.hash.slice(1));  // #NAME shows what tensor NAME is
const named = tensors.findIndex(t => t[ID] === asked);
if (named >= 0) {
  const [left, top] = box(named, place.x, place.y), frame = element("plan").getBoundingClientRect();
  select(named, frame.left + left, frame.top + top);
}
document.body.dataset.tensors = tensors.length;
document.body.dataset.fits = document.documentElement.scrollWidth <= window.innerWidth;
