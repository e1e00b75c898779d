// A value against cores, a line for each protocol.

// series: [{ name, style, points: [{ x, y, low, high, note, unsteady, remarks }] }]; axis: { label, log, format, top }.
function lines(series, axis, logCores, description) {
  const [width, height, left, right, top, bottom] = [640, 350, 64, 14, 26, 46];
  const svg = shape("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", tabindex: 0, "aria-label": description });
  const points = series.flatMap((s) => s.points).filter((p) => !axis.log || p.y > 0);
  if (points.length === 0) {
    svg.append(label(width / 2, height / 2, series.length ? "Nothing was measured" : "No line is selected", { "text-anchor": "middle" }));
    return svg;
  }
  const cores = [...new Set(points.map((p) => p.x))].sort((a, b) => a - b);
  const largest = Math.max(...points.map((p) => p.high ?? p.y));
  const least = Math.min(...points.map((p) => (p.low > 0 || !axis.log ? p.low : undefined) ?? p.y));
  const x = scale(logCores ? cores[0] : 0, cores[cores.length - 1], left + 14, width - right - 12, logCores);
  const high = axis.top ?? (largest > 0 ? largest * (axis.log ? 1.25 : 1.06) : 1);
  const y = scale(axis.log ? least / 1.25 : 0, high, height - bottom, top, axis.log);

  for (const value of ticks(y)) {
    svg.append(shape("line", { x1: left, x2: width - right, y1: y(value), y2: y(value), style: "stroke:var(--grid)" }));
    svg.append(label(left - 8, y(value) + 4, short(axis.format(value)), { "text-anchor": "end" }));
  }
  svg.append(shape("line", { x1: left, x2: width - right, y1: height - bottom, y2: height - bottom, style: "stroke:var(--soft);opacity:.6" }));
  let free = 0;
  for (const value of logCores || cores.length < 8 ? cores : ticks(x)) {
    const half = String(value).length * 4 + 4;
    svg.append(shape("line", { x1: x(value), x2: x(value), y1: height - bottom, y2: height - bottom + 4, style: "stroke:var(--soft)" }));
    if (x(value) - half < free) continue;
    svg.append(label(x(value), height - bottom + 18, value, { "text-anchor": "middle" }));
    free = x(value) + half;
  }
  svg.append(label((left + width - right) / 2, height - 6, logCores ? "cores (logarithmic)" : "cores", { "text-anchor": "middle" }));
  svg.append(label(4, 13, axis.label + (axis.log ? " (logarithmic)" : "")));

  for (const { name, style, points: own } of series) {
    const line = shape("g", { "data-name": name });
    svg.append(line);
    const shown = own.filter((p) => !axis.log || p.y > 0);
    const path = shown.map((p, i) => `${i ? "L" : "M"}${x(p.x).toFixed(1)},${y(p.y).toFixed(1)}`).join("");
    line.append(shape("path", { d: path, style: `fill:none;stroke:${style.colour};stroke-width:2;stroke-linejoin:round${style.baseline ? ";stroke-dasharray:5 4" : ""}` }));
    for (const p of shown) {
      if (p.high > p.low && (p.low > 0 || !axis.log)) {
        line.append(shape("line", { x1: x(p.x), x2: x(p.x), y1: y(p.low), y2: y(p.high), style: `stroke:${style.colour};stroke-width:1.4;opacity:.65` }));
      }
      line.append(mark(style, x(p.x), y(p.y)));
      if (p.unsteady) line.append(label(x(p.x), y(p.y) - 5, "~", { "text-anchor": "middle", style: `fill:${style.colour};font-size:14px;font-weight:700` }));
    }
  }

  const guide = shape("line", { y1: top, y2: height - bottom, style: "stroke:var(--soft);stroke-dasharray:2 3;visibility:hidden" });
  svg.append(guide);
  const point = (at, screenX, screenY) => {
    guide.style.visibility = "visible";
    guide.setAttribute("x1", x(at));
    guide.setAttribute("x2", x(at));
    const here = series.flatMap((s) => s.points.filter((p) => p.x === at).map((p) => [s, p]));
    here.sort((a, b) => b[1].y - a[1].y);
    showTip(screenX, screenY, `${at} core${at === 1 ? "" : "s"}`,
      here.map(([s, p]) => [s.style, s.name, axis.format(p.y) + (p.note || ""), (p.remarks || []).join("; ")]));
    return here;
  };
  const leave = () => { guide.style.visibility = "hidden"; hideTip(); highlight(svg, null); };
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    const at = ((event.clientX - box.left) / box.width) * width;
    const here = point(cores.reduce((a, b) => (Math.abs(x(b) - at) < Math.abs(x(a) - at) ? b : a)), event.clientX, event.clientY);
    // The line under the pointer stands out.
    const level = ((event.clientY - box.top) / box.height) * height;
    const off = (p) => Math.abs(y(Math.max(p.y, axis.log ? y.low : 0)) - level);
    const [nearest] = here.slice().sort((a, b) => off(a[1]) - off(b[1]));
    highlight(svg, nearest && off(nearest[1]) < 14 ? nearest[0].name : null);
  });
  svg.addEventListener("pointerleave", leave);
  svg.addEventListener("blur", leave);
  let chosen = -1;
  svg.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    chosen = Math.max(0, Math.min(cores.length - 1, chosen + step));
    const box = svg.getBoundingClientRect();
    point(cores[chosen], box.left + (x(cores[chosen]) / width) * box.width, box.top + box.height / 3);
  });
  return svg;
}
