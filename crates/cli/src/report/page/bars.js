// Bars: one value for each protocol, or shares of the whole.

// rows: [{ name, style, y, note }]. For a single number of cores, where a line would be a dot.
function bars(rows, axis, cores, description) {
  const [width, left, right, step, top] = [640, 150, 70, 30, 26];
  const height = top + Math.max(1, rows.length) * step + 6;
  const svg = shape("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": description });
  svg.append(label(4, 13, `${axis.label} with ${cores} core${cores === 1 ? "" : "s"}`));
  const largest = axis.top ?? Math.max(...rows.map((r) => r.y), 0);
  rows.forEach((row, i) => {
    const y = top + i * step;
    const long = largest > 0 ? (row.y / largest) * (width - left - right) : 0;
    svg.append(label(left - 10, y + 18, row.name, { "text-anchor": "end", style: "fill:var(--ink);font-size:12.5px" }));
    const bar = shape("rect", { x: left, y: y + 4, width: Math.max(long, 1.5), height: step - 9, rx: 3, style: `fill:${row.style.colour}` });
    bar.addEventListener("pointermove", (e) => showTip(e.clientX, e.clientY, row.name, [[row.style, axis.label, axis.format(row.y) + (row.note || ""), (row.remarks || []).join("; ")]]));
    bar.addEventListener("pointerleave", hideTip);
    svg.append(bar, label(left + long + 7, y + 18, (row.unsteady ? "~" : "") + axis.format(row.y)));
  });
  return svg;
}

// rows: [{ name, parts: { category: share } }]. Stacked, all of them equally long.
function stacks(rows, categories, description) {
  const [width, left, right, step, bottom] = [640, 150, 18, 32, 26];
  const height = Math.max(1, rows.length) * step + bottom + 4;
  const svg = shape("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": description });
  const x = scale(0, 1, left, width - right, false);
  for (const share of [0, 0.25, 0.5, 0.75, 1]) {
    svg.append(shape("line", { x1: x(share), x2: x(share), y1: 2, y2: height - bottom, style: "stroke:var(--grid)" }));
    svg.append(label(x(share), height - 8, `${share * 100} %`, { "text-anchor": "middle" }));
  }
  rows.forEach((row, i) => {
    svg.append(label(left - 10, i * step + 21, row.name, { "text-anchor": "end", style: "fill:var(--ink);font-size:12.5px" }));
    const group = shape("g", {});
    let from = 0;
    for (const { name, colour } of categories) {
      const share = row.parts[name] || 0;
      if (share <= 0) continue;
      const long = x(from + share) - x(from);
      group.append(shape("rect", { x: x(from), y: i * step + 5, width: Math.max(long - 1, 0.6), height: step - 9, style: `fill:${colour}` }));
      if (share >= 0.08) {
        group.append(shape("text", { x: x(from) + long / 2, y: i * step + 20.5, "text-anchor": "middle", style: "fill:#fff;font-size:11px;pointer-events:none;paint-order:stroke;stroke:#0006;stroke-width:2px" }, `${Math.round(share * 100)}`));
      }
      from += share;
    }
    group.addEventListener("pointermove", (e) => showTip(e.clientX, e.clientY, row.name,
      categories.filter((c) => row.parts[c.name] > 0).map((c) => [c.colour, c.title, percent(row.parts[c.name])])));
    group.addEventListener("pointerleave", hideTip);
    svg.append(group);
  });
  return svg;
}
