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
const state = { cores: "log", values: "linear", percentile: "p99", breakdown: [] };

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
    points: s.records.map((i) => ({ x: records[i].cores, ...read(records[i]) })),
  }));
  const cores = new Set(group.series.flatMap((s) => s.records.map((i) => records[i].cores)));
  const description = `${axis.label} against cores: ${group.title}. The values are in the table below.`;
  if (cores.size > 1) return lines(shown, axis, state.cores === "log", description);
  return bars(shown.flatMap((s) => s.points.map((p) => ({ ...s, ...p }))), axis, [...cores][0], description);
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

function draw() {
  hideTip();
  const log = state.values === "log";
  const cards = (axis, read) => view.groups.map((group) => card(group, chart(group, axis, read)));
  byId("throughput").replaceChildren(...cards({ label: "transactions a second", format: rate, log }, (r) => ({
    y: r.throughput_txn_per_s, low: r.spread.min_txn_per_s, high: r.spread.max_txn_per_s,
    note: r.repetitions > 1 ? ` ±${percent(r.spread.relative / 2)}` : "",
  })));
  const title = { p50: "median latency", p99: "99th percentile of latency", p999: "99.9th percentile of latency" }[state.percentile];
  byId("latency").replaceChildren(...cards({ label: title, format: duration, log: true }, (r) => ({ y: r.latency_ns[state.percentile] })));
  const worst = Math.max(...records.map((r) => r.abort_ratio), 0);
  byId("aborts").replaceChildren(...cards({ label: "aborted attempts", format: percent, log: false, top: worst === 0 ? 1 : undefined }, (r) => ({ y: r.abort_ratio })));
  const parts = view.groups.map(breakdown).filter(Boolean);
  byId("breakdown-section").hidden = parts.length === 0;
  byId("breakdown").replaceChildren(...parts);
}

function legend() {
  for (const name of names) {
    const icon = shape("svg", { viewBox: "-7 -7 14 14", width: 14, height: 14, style: "width:14px" }, mark(styles.get(name), 0, 0));
    const button = element("button", {
      type: "button", "aria-pressed": true, title: "Show or hide; double-click shows it alone",
      onclick: () => { if (!hidden.delete(name)) hidden.add(name); update(); },
      ondblclick: () => { hidden.clear(); names.filter((n) => n !== name).forEach((n) => hidden.add(n)); update(); },
    }, icon, name);
    byId("legend").append(button);
  }
  byId("categories").append(...categories.map((c) => element("span", { class: "key" }, element("i", { style: `background:${c.colour}` }), c.title)));
}

function update() {
  names.forEach((name, i) => byId("legend").children[i].setAttribute("aria-pressed", !hidden.has(name)));
  draw();
}

function summary() {
  const checked = view.groups.flatMap((g) => g.series.flatMap((s) => s.records.map((i, n) => [records[i].certificate, s.certificates[n]])));
  const broken = checked.filter(([, said]) => said.startsWith("FAIL")).length;
  const unchecked = checked.filter(([, said]) => said === "not checked").length;
  const promised = (c) => Object.keys(c.promised).filter((level) => c.promised[level]);
  const kept = (c) => promised(c).length > 0 && promised(c).every((level) => c[level] === "pass");
  const held = checked.filter(([c]) => kept(c)).length;
  const unpromised = checked.filter(([c, said]) => promised(c).length === 0 && said !== "not checked").length;
  const stopped = records.filter((r) => r.interrupted).length;
  byId("verdict").append(`${plural(records.length, "record")}. Certificates: `,
    ...(broken ? [element("span", { class: "bad" }, `${plural(broken, "broken promise")}, `)] : []),
    element("span", { class: held ? "good" : "" }, `${held} kept what the protocol promises`),
    `, ${unpromised ? `${unpromised} by protocols that promise nothing, ` : ""}${unchecked} not checked.` + (stopped ? ` ${plural(stopped, "run")} interrupted.` : ""));
  const put = (name, value, wide) => byId("configuration").append(element("div", wide ? { class: "wide" } : {}, element("dt", {}, name), element("dd", {}, value)));
  const all = (read) => [...new Set(records.map(read).filter((v) => v !== ""))];
  put("workload", all((r) => r.workload).join(", "));
  const options = new Set(records.flatMap((r) => Object.keys(r.workload_options)));
  for (const name of options) put(name.replaceAll("-", " "), all((r) => grouped(r.workload_options[name] ?? "")).join(", "));
  put("seed", all((r) => r.seed).join(", "));
  put("repetitions", all((r) => r.repetitions).join(", "));
  put("commit", all((r) => r.commit.slice(0, 12)).join(", "));
  for (const [name, read] of [["host", (r) => r.host], ["placement", (r) => r.placement]]) {
    const values = all(read);
    if (values.length) put(name, values.join("; "), true);
  }
}

function table() {
  const rows = view.groups.flatMap((g) => g.series.flatMap((s) => s.records.map((i, n) => ({ r: records[i], name: s.name, said: s.certificates[n] }))));
  const columns = [
    ...(new Set(records.map((r) => r.workload)).size > 1 ? [["workload", (o) => o.r.workload, null]] : []), ["machine", (o) => o.r.machine, null], ["protocol", (o) => o.name, null],
    ["cores", (o) => o.r.cores, String], ["txn/s", (o) => o.r.throughput_txn_per_s, rate], ["spread", (o) => (o.r.repetitions > 1 ? o.r.spread.relative / 2 : -1), (v) => (v < 0 ? "" : `±${percent(v)}`)],
    ["aborts", (o) => o.r.abort_ratio, percent], ["p50", (o) => o.r.latency_ns.p50, duration], ["p99", (o) => o.r.latency_ns.p99, duration],
    ["p99.9", (o) => o.r.latency_ns.p999, duration], ["max", (o) => o.r.latency_ns.max, duration], ["certificate", (o) => o.said, null],
  ];
  if (rows.some((o) => o.r.operations_per_wall_s)) columns.push(["sim. op/s", (o) => o.r.operations_per_wall_s ?? -1, (v) => (v < 0 ? "" : rate(v))]);
  const show = (o) => {
    byId("details").querySelector("pre").textContent = JSON.stringify(o.r, null, 2);
    byId("details").showModal();
  };
  const cell = (o, [title, read, format]) => {
    const value = read(o);
    const tone = title !== "certificate" ? "" : value.startsWith("FAIL") ? " bad" : value === "not checked" || value.startsWith("not ") ? "" : " good";
    const mark = title === "protocol" && o.r.interrupted ? " (interrupted)" : "";
    return element("td", { class: (format ? "" : "text") + tone }, (format ? format(value) : value) + mark);
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
choice("throughput", "values", [["linear", "linear"], ["log", "log"]], "switches");
choice("percentile", "percentile", [["p50", "p50"], ["p99", "p99"], ["p999", "p99.9"]], "percentiles");
byId("download").addEventListener("click", (event) => {
  event.preventDefault();
  download("kilocore-records.json", "application/json", JSON.stringify(records, null, 2));
});
legend();
summary();
table();
draw();
