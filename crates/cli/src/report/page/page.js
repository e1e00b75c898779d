// The page: what is switched on, and everything drawn from it.

const records = JSON.parse(document.getElementById("records").textContent);
const view = JSON.parse(document.getElementById("view").textContent);
const byId = (id) => document.getElementById(id);
const grouped = (v) => (typeof v === "number" && v >= 1e4 ? v.toLocaleString("en-US") : String(v));
const plural = (n, word) => `${n} ${word}${n === 1 ? "" : "s"}`;

const names = [...new Set(view.groups.flatMap((g) => g.series.map((s) => s.name)))];
const styles = new Map();
let slot = 0;
for (const name of names) {
  const baseline = view.groups.every((g) => g.series.every((s) => s.name !== name || s.baseline));
  styles.set(name, { slot, baseline, colour: baseline ? "var(--base)" : `var(--s${slot % 12})` });
  if (!baseline) slot += 1;
}
const categories = view.categories.map((name, i) => ({ name, title: name.replaceAll("_", " "), colour: `var(--c${i})` }));
const hidden = new Set();
const state = { cores: "log", values: "auto", percentile: "p99", breakdown: [] };

function choice(title, key, options, into) {
  const buttons = options.map(([value, text]) => element("button", {
    type: "button", "aria-pressed": state[key] === value,
    onclick: () => {
      state[key] = value;
      buttons.forEach((b, i) => b.setAttribute("aria-pressed", options[i][0] === value));
      draw();
    },
  }, text));
  byId(into).append(element("div", { class: "choice" }, title, element("span", { role: "group", "aria-label": title }, ...buttons)));
}

function card(group, svg, extra) {
  return element("figure", { class: "card" },
    element("figcaption", {}, element("b", {}, group.title), element("span", { class: "pill" }, group.kind), ...(extra ? [extra] : []),
      element("button", { class: "save", type: "button", title: "Save this chart as SVG", onclick: () => save(svg, group.title.replace(/\W+/g, "-")) }, "SVG"),
      element("small", {}, group.description)),
    svg);
}

// One chart of `axis` for a group; `read` gives the point of a record.
function chart(group, axis, read) {
  const shown = group.series.filter((s) => !hidden.has(s.name)).map((s) => ({
    name: s.name, style: styles.get(s.name),
    points: s.records.map((i, n) => ({ x: records[i].cores, unsteady: s.rows[n].unsteady, remarks: s.rows[n].remarks, ...read(records[i], s.rows[n]) })),
  }));
  const cores = new Set(group.series.flatMap((s) => s.records.map((i) => records[i].cores)));
  const description = `${axis.label} against cores: ${group.title}. The values are in the table below.`;
  const log = axis.log === "auto" ? flattens(shown) : axis.log;
  if (cores.size > 1) return lines(shown, { ...axis, log }, state.cores === "log", description);
  return bars(shown.flatMap((s) => s.points.map((p) => ({ ...s, ...p }))), axis, [...cores][0], description);
}

// True when some line is flattened by another: its best is less than a fifth of the best of all.
function flattens(series) {
  const best = series.map((s) => Math.max(0, ...s.points.map((p) => p.y))).filter((y) => y > 0);
  return best.length > 1 && Math.min(...best) * 5 < Math.max(...best);
}

function breakdown(group, index) {
  const measured = group.series.map((s) => ({ ...s, records: s.records.filter((i) => records[i].breakdown) })).filter((s) => s.records.length);
  if (!measured.length) return null;
  const cores = [...new Set(measured.flatMap((s) => s.records.map((i) => records[i].cores)))].sort((a, b) => a - b);
  state.breakdown[index] ??= `cores ${cores[cores.length - 1]}`;
  const option = (value, text) => {
    const made = element("option", { value }, text);
    made.selected = value === state.breakdown[index];
    return made;
  };
  const select = element("select", { "aria-label": "What to compare", onchange: (e) => { state.breakdown[index] = e.target.value; draw(); } },
    ...cores.map((n) => option(`cores ${n}`, `All protocols, ${plural(n, "core")}`)),
    ...measured.map((s) => option(`series ${s.name}`, `${s.name}, all core counts`)));
  const [by, what] = [state.breakdown[index].slice(0, 6).trim(), state.breakdown[index].slice(6).trim()];
  const rows = by === "cores"
    ? measured.filter((s) => !hidden.has(s.name)).flatMap((s) => s.records.filter((i) => records[i].cores === Number(what)).map((i) => ({ name: s.name, parts: records[i].breakdown })))
    : measured.filter((s) => s.name === what).flatMap((s) => s.records.map((i) => ({ name: plural(records[i].cores, "core"), parts: records[i].breakdown })));
  return card(group, stacks(rows, categories, `Time by category: ${group.title}`), select);
}

const bound = (r, name) => (r.latency_ns.at_least || []).includes(name);

function draw() {
  hideTip();
  const log = state.values === "auto" ? "auto" : state.values === "log";
  const cards = (axis, read) => view.groups.map((group) => card(group, chart(group, axis, read)));
  byId("throughput").replaceChildren(...cards({ label: "transactions a second", format: rate, log }, (r, row) => ({
    y: r.throughput_txn_per_s, low: r.spread.min_txn_per_s, high: r.spread.max_txn_per_s,
    note: row.spread === null ? "" : ` ±${percent(row.spread)}`,
  })));
  const title = { p50: "median latency", p99: "99th percentile of latency", p999: "99.9th percentile of latency" }[state.percentile];
  byId("latency").replaceChildren(...cards({ label: title, format: duration, log: true }, (r) => ({
    y: r.latency_ns[state.percentile] ?? 0, note: bound(r, state.percentile) ? " at least" : "",
  })));
  const worst = Math.max(...records.map((r) => r.abort_ratio), 0);
  byId("aborts").replaceChildren(...cards({ label: "aborted attempts", format: percent, log: false, top: worst === 0 ? 1 : undefined }, (r) => ({ y: r.abort_ratio })));
  const parts = view.groups.map(breakdown).filter(Boolean);
  byId("breakdown-section").hidden = parts.length === 0;
  byId("breakdown").replaceChildren(...parts);
}

function legend() {
  for (const name of names) {
    const button = element("button", {
      type: "button", "aria-pressed": true, title: "Show or hide; double-click shows it alone",
      onclick: () => { if (!hidden.delete(name)) hidden.add(name); update(); },
      onpointerenter: () => highlight(document, name), onpointerleave: () => highlight(document, null),
      ondblclick: () => { hidden.clear(); names.filter((n) => n !== name).forEach((n) => hidden.add(n)); update(); },
    }, icon(styles.get(name)), name);
    byId("legend").append(button);
  }
  byId("categories").append(...categories.map((c) => element("span", { class: "key" }, element("i", { style: `background:${c.colour}` }), c.title)));
}

function update() {
  names.forEach((name, i) => byId("legend").children[i].setAttribute("aria-pressed", !hidden.has(name)));
  draw();
}

function summary() {
  const checked = view.groups.flatMap((g) => g.series.flatMap((s) => s.records.map((i, n) => [records[i].certificate, s.rows[n]])));
  const broken = checked.filter(([, row]) => row.observed.startsWith("FAIL")).length;
  const unchecked = checked.filter(([, row]) => row.observed === "not checked").length;
  const held = checked.filter(([, row]) => row.kept).length;
  const unpromised = checked.filter(([c, row]) => !Object.values(c.promised).includes(true) && row.observed !== "not checked").length;
  const unsteady = checked.filter(([, row]) => row.unsteady).length;
  const stopped = records.filter((r) => r.interrupted).length;
  byId("verdict").append(`${plural(records.length, "record")}. Certificates: `,
    ...(broken ? [element("span", { class: "bad" }, `${plural(broken, "broken promise")}, `)] : []),
    element("span", { class: held ? "good" : "" }, `${held} kept what the protocol promises`),
    `, ${unpromised ? `${unpromised} by protocols that promise nothing, ` : ""}${unchecked} not checked.` + (unsteady ? ` ${plural(unsteady, "record")} not steady, marked ~.` : "") + (stopped ? ` ${plural(stopped, "run")} interrupted.` : ""));
  const put = (name, value, wide) => byId("configuration").append(element("div", wide ? { class: "wide" } : {}, element("dt", {}, name), element("dd", {}, value)));
  const all = (read) => [...new Set(records.map(read).filter((v) => v !== ""))];
  put("workload", all((r) => r.workload).join(", "));
  for (const name of view.options) put(name.replaceAll("-", " "), all((r) => grouped(r.workload_options[name] ?? "")).join(", "));
  if (!view.options.length) put("options", "all at their defaults");
  put("seed", all((r) => r.seed).join(", "));
  put("repetitions", all((r) => r.repetitions).join(", "));
  put("commit", all((r) => r.commit).join(", "));
  put("measured", all((r) => r.provenance?.date.slice(0, 10) ?? "").join(", "));
  put("program", all((r) => (r.provenance ? `${r.provenance.version}, ${r.provenance.rustc}, ${r.provenance.profile}` : "")).join("; "));
  for (const [name, read] of [["command line", (r) => r.provenance?.command_line ?? ""], ["host", (r) => r.host], ["placement", (r) => r.placement]]) {
    const values = all(read);
    if (values.length) put(name, values.join("; "), true);
  }
}

function table() {
  const rows = view.groups.flatMap((g) => g.series.flatMap((s) => s.records.map((i, n) => ({ r: records[i], name: s.name, promise: s.promise, settings: s.settings, row: s.rows[n] }))));
  const latency = (name) => [(o) => o.r.latency_ns[name] ?? -1, (v, o) => (v < 0 ? "–" : (bound(o.r, name) ? "≥" : "") + duration(v))];
  const columns = [
    ...(new Set(records.map((r) => r.workload)).size > 1 ? [["workload", (o) => o.r.workload, null]] : []), ["machine", (o) => o.r.machine, null], ["protocol", (o) => o.name, null],
    ["cores", (o) => o.r.cores, String], ["txn/s", (o) => o.r.throughput_txn_per_s, (v, o) => (o.row.unsteady ? "~" : "") + rate(v)], ["spread", (o) => o.row.spread ?? -1, (v) => (v < 0 ? "–" : `±${percent(v)}`)],
    ["aborts", (o) => o.r.abort_ratio, percent], ["p50", ...latency("p50")], ["p99", ...latency("p99")], ["p99.9", ...latency("p999")], ["max", ...latency("max")],
    ["promises", (o) => o.promise, null], ["observed", (o) => o.row.observed, null],
    ["remarks", (o) => o.row.remarks.join("; "), null], ["settings", (o) => o.settings, null],
  ];
  if (rows.some((o) => o.r.operations_per_wall_s)) columns.push(["sim. op/s", (o) => o.r.operations_per_wall_s ?? -1, (v) => (v < 0 ? "" : rate(v))]);
  const show = (o) => {
    byId("details").querySelector("pre").textContent = JSON.stringify(o.r, null, 2);
    byId("details").showModal();
  };
  const cell = (o, [title, read, format]) => {
    const value = read(o);
    // What nobody promised is plain, whatever was observed.
    const tone = title !== "observed" ? "" : value.startsWith("FAIL") ? " bad" : o.row.kept ? " good" : "";
    return element("td", { class: (format ? "" : "text") + tone }, format ? format(value, o) : value);
  };
  const body = element("tbody");
  const fill = () => body.replaceChildren(...rows.map((o) => element("tr", { tabindex: 0, onclick: () => show(o), onkeydown: (e) => { if (e.key === "Enter") show(o); } }, ...columns.map((c) => cell(o, c)))));
  const sort = (header, [, read]) => {
    const up = header.getAttribute("aria-sort") !== "ascending";
    for (const other of header.parentNode.children) other.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", up ? "ascending" : "descending");
    rows.sort((a, b) => (read(a) < read(b) ? -1 : read(a) > read(b) ? 1 : 0) * (up ? 1 : -1));
    fill();
  };
  const heads = columns.map((c) => element("th", { scope: "col", tabindex: 0, class: c[2] ? "" : "text", onclick: (e) => sort(e.currentTarget, c), onkeydown: (e) => { if (e.key === "Enter") sort(e.currentTarget, c); } }, c[0]));
  byId("table").append(element("thead", {}, element("tr", {}, ...heads)), body);
  fill();
}

choice("cores", "cores", [["log", "log"], ["linear", "linear"]], "switches");
choice("throughput", "values", [["auto", "auto"], ["linear", "linear"], ["log", "log"]], "switches");
choice("percentile", "percentile", [["p50", "p50"], ["p99", "p99"], ["p999", "p99.9"]], "percentiles");
byId("download").addEventListener("click", (event) => {
  event.preventDefault();
  download("kilocore-records.json", "application/json", JSON.stringify(records, null, 2));
});
legend();
summary();
table();
draw();
