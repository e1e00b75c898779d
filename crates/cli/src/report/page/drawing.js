// Elements, numbers, scales and the tooltip: what all charts are made of.

const SVG = "http://www.w3.org/2000/svg";

function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined) made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

function shape(name, attributes, ...children) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function digits(value) {
  const decimals = value === 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return value.toFixed(decimals);
}

function withUnit(value, units) {
  const unit = units.find(([size]) => value >= size * 0.9995) || units[units.length - 1];
  return digits(value / unit[0]) + unit[1];
}

const rate = (v) => withUnit(v, [[1e12, " T"], [1e9, " G"], [1e6, " M"], [1e3, " k"], [1, ""]]);
const duration = (v) => withUnit(v, [[1e9, " s"], [1e6, " ms"], [1e3, " µs"], [1, " ns"]]);
const percent = (v) => (v > 0 && v < 1e-4 ? "<0.01 %" : digits(v * 100) + " %");
// Tick labels need no zeros that say nothing.
const short = (text) => text.replace(/(\.\d*?)0+(?= |$)/, "$1").replace(/\.(?= |$)/, "");

// Maps `low`..`high` to `from`..`to`.
function scale(low, high, from, to, log) {
  const place = log ? Math.log : (v) => v;
  const [a, b] = [place(low), place(high)];
  const map = (v) => (b === a ? (from + to) / 2 : from + ((place(v) - a) / (b - a)) * (to - from));
  return Object.assign(map, { low, high, log });
}

function ticks(s) {
  const { low, high, log } = s;
  const out = [];
  if (!log) {
    const raw = (high - low) / 6;
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((m) => m >= raw * 0.999);
    for (let i = Math.ceil(low / step); i * step <= high * 1.0001; i++) out.push(i * step);
    return out;
  }
  const decades = Math.log10(high / low);
  const steps = decades > 3.5 ? [1] : decades > 1.3 ? [1, 3] : [1, 2, 3, 5, 7];
  for (let e = Math.floor(Math.log10(low)); e <= Math.log10(high); e++) {
    for (const m of steps) {
      const v = m * 10 ** e;
      if (v >= low * 0.999 && v <= high * 1.001) out.push(v);
    }
  }
  return out;
}

// Marks differ in form as well as in colour.
const MARKS = [
  "M-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0z", "M-3.7-3.7h7.4v7.4h-7.4z", "M0-4.9L4.6,3.4H-4.6z",
  "M0-5.2L5.2,0L0,5.2L-5.2,0z", "M0,4.9L4.6-3.4H-4.6z",
  "M-1.5-4.6h3v3.1h3.1v3h-3.1v3.1h-3v-3.1h-3.1v-3h3.1z", "M0-5L4.8-1.5L3,4H-3L-4.8-1.5z",
  "M-4.6,0L-2.3-4H2.3L4.6,0L2.3,4H-2.3z", "M-5-2.4H5V2.4H-5z", "M-2.4-5H2.4V5H-2.4z",
];

// Twice as many as there are forms: the second half is hollow, with a dot. A baseline is hollow and grey.
function mark(style, x, y) {
  const hollow = style.baseline || style.slot >= MARKS.length;
  const form = shape("path", {
    d: MARKS[style.slot % MARKS.length],
    style: `fill:${hollow ? "var(--card)" : style.colour};stroke:${hollow ? style.colour : "var(--card)"};stroke-width:${hollow ? 1.7 : 1.2}`,
  });
  const dot = hollow && !style.baseline ? [shape("circle", { r: 1.2, style: `fill:${style.colour}` })] : [];
  return shape("g", { transform: `translate(${x} ${y})` }, form, ...dot);
}

// A mark beside a name.
function icon(style) {
  return shape("svg", { viewBox: "-7 -7 14 14", width: 14, height: 14, style: "width:14px;flex:none" }, mark(style, 0, 0));
}

// Lets all lines below `place` step back but that called `name`; none steps back for null.
function highlight(place, name) {
  for (const line of place.querySelectorAll("g[data-name]")) line.style.opacity = name === null || line.dataset.name === name ? 1 : 0.15;
}

const tip = document.getElementById("tip");

function showTip(x, y, heading, lines) {
  // A line is [colour or style of a mark, name, value, remark].
  tip.replaceChildren(element("p", {}, heading), ...lines.map(([sign, name, value, remark]) =>
    element("div", {}, typeof sign === "string" ? element("i", { style: `background:${sign}` }) : icon(sign),
      element("span", {}, name), ...(remark ? [element("small", {}, remark)] : []), element("span", {}, value))));
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const left = x + 18 + box.width > innerWidth ? x - 18 - box.width : x + 18;
  tip.style.left = `${Math.max(4, left)}px`;
  tip.style.top = `${Math.max(4, Math.min(y + 14, innerHeight - box.height - 4))}px`;
}

function hideTip() {
  tip.hidden = true;
}

function label(x, y, text, attributes) {
  return shape("text", { x, y, style: "fill:var(--soft);font-size:12.5px", ...attributes }, text);
}

// A copy of a chart as a file of its own: the page's colours are written into it.
function save(svg, name) {
  const copy = svg.cloneNode(true);
  const page = getComputedStyle(document.documentElement);
  const used = [...new Set(copy.outerHTML.match(/--[a-z0-9]+/g))];
  const colours = used.map((v) => `${v}:${page.getPropertyValue(v)}`).join(";");
  copy.setAttribute("xmlns", SVG);
  copy.setAttribute("style", `${colours};background:var(--card);--card:${page.getPropertyValue("--card")};font-family:sans-serif`);
  download(`${name}.svg`, "image/svg+xml", copy.outerHTML);
}

function download(name, type, text) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  element("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}
