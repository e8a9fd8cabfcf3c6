// SPDX-License-Identifier: Apache-2.0
// Draws the page from the data in it. Figures come from the data; here are only places, lengths and colours.
// Text of the data reaches the page as text nodes and never as markup.
"use strict";
(() => {
const whole = JSON.parse(document.getElementById("data").textContent);
const SVG = "http://www.w3.org/2000/svg";
const MOST_SVG_MARKS = 20000;
let charts = {}; // what was drawn, for who checks it: name → { marks, values }
const zh = document.documentElement.lang === "zh-CN";

// ---- words ----------------------------------------------------------------------------------------

const words = {
  "before the record": "采集开始前", "<no stack>": "<无调用栈>",
  "allocated": "已分配", "out of memory": "内存不足", "No history was recorded of this rank: only its end is known.": "该 rank 没有记录历史：只知道结束时的状态。", "Memory over the events of the record": "记录中各事件的内存", "event": "事件", "released": "归还缓存", "peak allocated": "已分配峰值", "peak reserved": "已保留峰值", "What fills the peak": "峰值由什么占用", "blocks": "块", "Blocks at the peak": "峰值时的内存块", "Each row is a segment, the largest first.": "每行是一个段，最大的在前。", "free within reserved": "已保留中的空闲", "stuck in segments in use": "困在使用中的段里", "pending": "等待释放", "Other settings of the allocator, foretold": "分配器的其他设置（预测）", "settings": "设置", "driver calls": "驱动调用", "within the error": "在误差范围内", "leaves each time, never freed": "每次留下且从未释放",
  "Verdict": "结论", "Do next": "下一步", "Where the iteration goes": "迭代时间去向", "Where the step goes": "step 时间去向",
  "Ranks × steps": "rank × step 热力图", "Who made whom wait": "谁让谁等待", "Links": "链路", "Pipeline": "流水线",
  "Repairs": "修复收益", "Findings": "调优建议", "Memory": "内存", "Experts": "专家负载", "Trust": "可信度", "Glossary": "术语",
  "what the repair gains, and what else would": "该修复与其他修复的收益", "all findings with their evidence": "全部建议及证据", "who waited for whom, on one clock": "统一时钟下谁在等谁", "what was recorded, and the switches for what was not": "采集了什么；未采集的用什么开关",
  "change by rank": "各 rank 的变化", "own work": "自身工作", "noise": "噪声", "The axis begins at": "横轴起点", "pass": "通过", "fail": "未通过", "inconclusive": "无法判定", "regression": "变慢", "improvement": "变快", "untested": "未检验",
  "communicators": "通信域", "to": "到", "from": "从", "logarithmic": "对数刻度", "too little for a bandwidth": "数据太少，无法得出带宽", "kind": "类型", "comparable links": "同类链路", "The step of median length, one rank of each stage, on the common clock": "时长居中的 step，每个流水线 stage 一个 rank，统一时钟", "figures": "数值",
  "saves": "节省", "as it is, replayed": "现状（回放）", "nothing ticked": "未勾选", "Tokens that the experts of each rank got in all steps, and what the rank lost by waiting for those with more.": "各 rank 的专家在所有 step 收到的 token 数，以及因等待更多者而损失的时间。",
  "Clocks of the ranks": "各 rank 时钟", "by none": "无法比较", "by collectives": "由集合通信对齐", "by manifest": "由采集清单对齐", "error": "误差", "operators end before their last rank came, by at most": "个算子在最后一个 rank 到达前结束，最多早",
  "cause, victim": "根因、等待者", "rank:, host:, stage:": "rank:、host:、stage:", "matched operators": "已匹配算子", "clock error": "时钟误差", "span": "跨度", "exposed": "暴露", "root cause": "根因", "charge": "归因等待", "repair": "修复", "idle (free)": "空闲 (free)", "between steps": "step 之间", "warm-up, imbalance, tail": "预热、不均、末尾", "outlier": "离群值",
  "high": "高", "medium": "中", "low": "低", "info": "提示",
  "Difference": "差异", "Frequency": "频率", "History": "历史", "run": "运行", "The step did not change over these runs.": "这些运行的 step 没有变化。", "frequency": "频率", "Phases": "阶段", "phase": "阶段", "device": "设备", "time": "时长", "with other phases": "与其他阶段重叠",
  "Time on the device, idle within, and shared with other phases on the same NPU": "设备上的时长、其中空闲、以及与同一 NPU 上其他阶段的重叠",
  "rated": "额定", "ranks more than 2 % below it": "个 rank 低于额定 2 % 以上", "Mean clock of the AI cores while steps run, slowest ranks first.": "各 step 期间 AI Core 平均频率，最慢的在前。", "lowest step": "最低 step",
  "All of it on one clock, for ui.perfetto.dev or MindStudio Insight:": "统一时钟的时间线，可用 ui.perfetto.dev 或 MindStudio Insight 打开：",
  "iteration": "迭代", "step": "step", "could be gained": "可节省", "ranks profiled": "已采集 rank", "clock error (p90)": "时钟误差 (p90)",
  "mean over ranks": "各 rank 均值", "replayed": "回放", "of": "/", "hosts": "主机", "all ranks": "全部 rank", "by host": "按主机",
  "by stage": "按流水线 stage", "by dp": "按 dp", "by tp": "按 tp", "by cp": "按 cp", "by ep": "按 ep", "by rank": "按 rank",
  "bars": "分组", "quantity": "指标", "order": "排序", "ideal": "理想", "computing": "计算", "wait caused": "造成的等待",
  "wait suffered": "承受的等待", "idle": "空闲", "memory peak": "内存峰值", "step time": "step 时长", "rank": "rank", "host": "主机",
  "stage": "流水线 stage", "not profiled": "未采集", "nobody known": "来源未知", "others": "其他", "other": "其他", "operator": "算子", "waited": "等待",
  "longest": "最长", "last to come": "最后到达", "communicator": "通信域", "cause": "根因", "victim": "等待者",
  "as a flow": "流向图", "as a matrix": "矩阵", "operators in which it came last": "它最后到达的算子", "it came last in none of the operators that are listed: the waiting was passed on to it": "所列算子中没有它最后到达的：等待是由其他 rank 传递而来", "bandwidth": "带宽", "slow": "慢", "close": "关闭", "copy": "复制", "copied": "已复制",
  "kernel type": "算子类型", "this rank": "本 rank", "median": "中位数", "repair saves": "修复可节省", "waiting of others": "其他 rank 的等待",
  "waits here": "在此等待", "causes here": "在此造成", "evidence": "证据", "what to do": "怎么做", "rows": "行", "more": "更多",
  "bound": "上界", "step with it": "修复后 step", "saved": "节省", "Tick repairs to combine them: the step is replayed for each choice.": "勾选可组合修复：每种组合都已回放。",
  "with the repairs ticked": "勾选的修复后", "useful": "计算", "other_comm": "级内通信", "warmup": "预热/排空等待", "imbalance": "级间不均等待",
  "transfer": "传输", "tail": "末尾等待", "component": "组件", "peak": "峰值", "reserved": "保留", "growth per step": "每 step 增长",
  "tokens": "token 数", "lost": "损失", "Not used": "未使用的输入", "Notes": "说明", "Withheld": "不给出", "file": "文件", "reason": "原因", "what": "内容", "switch": "采集开关",
  "No finding.": "没有发现。", "fewer": "更少", "no waiting was measured": "没有测得等待", "slower than comparable links": "慢于同类链路",
  "unknown": "未知", "outliers are outlined": "描边为离群值", "outliers are red": "红色为离群值", "outliers, in so many columns": "离群值（列数）", "All of it is within hosts: a cell for each, by bandwidth.": "全部在主机内：每台主机一格，按带宽着色。", "mean of": "均值：", "steps": "个 step", "wait": "等待", "memcpy": "拷贝", "free": "空闲", "between": "step 之间",
  "compute": "计算", "comm": "通信", "other types": "其他类型", "per step": "每 step", "coverage": "覆盖率", "changed by": "变化", "base": "基线", "new": "新", "leaf": "项目", "verdict": "判定", "gate": "门禁", "share": "占比",
  "Matched operators": "已匹配算子", "clock": "时钟", "made by": "生成工具", "findings": "条建议", "one cause": "同一原因", "kernels, steps and idle time as a trace": "算子、step 与空闲的时间线", "Everything here comes from the profiles of this run; unknown is shown as ?, never as 0.": "本页全部数据来自本次采集；未知显示为 ?，绝不显示为 0。",
};
// Words of the data that are none of people.
const plain = {
  "by none": "not comparable", "by collectives": "compared by collectives", "by manifest": "as the launcher measured them",
  "useful": "computing", "other_comm": "communication within the stage", "warmup": "waiting while the pipeline fills or drains",
  "imbalance": "waiting for another stage", "tail": "waiting at the end",
};
const T = (text) => (zh ? words : plain)[text] || text;

const glossary = [
  ["iteration", "From the first kernel of a step to the first kernel of the next one. The last of consecutive steps has none.", "从一个 step 的首个算子到下一个 step 的首个算子；连续 step 中最后一个没有。"],
  ["span", "From the first start to the last end of computing and communication in a step.", "一个 step 内计算与通信从最早开始到最晚结束。"],
  ["computing", "Time in which a kernel runs, each nanosecond once.", "有算子运行的时间，每纳秒只计一次。"],
  ["wait", "The part of a communication operator before the last rank it waits for has come.", "通信算子中，所等的最后一个 rank 到达之前的部分。"],
  ["transfer", "The rest of a communication operator: data moves.", "通信算子的其余部分：数据传输。"],
  ["exposed", "Communication that no computing hides.", "未被计算掩盖的通信。"],
  ["root cause", "The rank at which a chain of waiting begins. Who was itself kept waiting passes the charge on.", "等待链条的起点；自己也在等待的 rank 会把责任上移。"],
  ["charge", "Waiting of other ranks that goes back to a rank, summed over those that waited.", "归因于某 rank 的其他 rank 等待时间之和。"],
  ["repair", "The run replayed with a cause removed: a rank as fast as its peers, a link as fast as comparable links.", "去除某个原因后回放：该 rank 与同组一样快，该链路与同类一样快。"],
  ["ideal", "The step replayed with all ranks, stages and links even.", "所有 rank、流水线 stage、链路都均衡时的回放 step。"],
  ["idle (free)", "Nothing computes or communicates on the device. host: the launch had not returned; other: launched and not started.", "设备上既无计算也无通信。host：下发未返回；other：已下发未开始。"],
  ["between steps", "From the last end of a step to the first start of the next.", "一个 step 最晚结束到下一个 step 最早开始。"],
  ["warm-up, imbalance, tail", "Waiting of a pipeline stage while the pipeline fills or drains, in between, and after its last message.", "流水线 stage 在填充/排空期、中段、最后一条消息之后的等待。"],
  ["outlier", "More than 6 robust standard deviations and 5 % above the median of its column, among ranks of its stage; of the frequency, below it by 2 %.", "比同列同流水线 stage 中位数高 6 个稳健标准差且高 5 % 以上；频率则为低 2 % 以上。"],
  ["communicator", "Ranks that communicate with each other: tp tensor, pp pipeline, dp data, cp context, ep/exp expert parallel; the digits are the end of its number.", "相互通信的一组 rank：tp 张量、pp 流水、dp 数据、cp 上下文、ep/exp 专家并行；数字为其编号末尾。"],
  ["cause, victim", "Who came late by itself, and who waited for it, directly or through others.", "自身迟到者，以及直接或间接等待它的 rank。"],
  ["not profiled", "Ranks of the job without a profile: what they did is not known, and may be the cause.", "作业中没有采集数据的 rank：其行为未知，可能就是原因。"],
  ["nobody known", "Waiting that no rank can be charged with.", "无法归因到任何 rank 的等待。"],
  ["rank:, host:, stage:", "Repair: this rank, all ranks of this host, or this pipeline stage as fast as their peers.", "修复：该 rank、该主机全部 rank、或该流水线 stage 与同类一样快。"],
  ["role:, group:, link:", "Repair: transfers of such communicators, of one of them, or between two ranks as fast as comparable ones.", "修复：此类通信域、某个通信域、或两 rank 之间的传输与同类一样快。"],
  ["host-gaps, between", "Repair: no waiting for the host within steps; none between steps.", "修复：step 内不等待主机；step 之间不等待。"],
  ["hide-comm, all (bound)", "No repairs but bounds: no exposed transfer at all; every rank and transfer even.", "不是修复而是上界：没有暴露的传输；所有 rank 与传输都均衡。"],
  ["matched operators", "Communication operators that were found on all ranks which took part, and can be compared.", "在所有参与 rank 上都找到、可以比较的通信算子。"],
  ["clock error", "How far the ends of collectives are apart on the common clock: differences below it mean nothing.", "统一时钟下集合通信结束时刻的偏差：小于它的差异没有意义。"],
  ["rated", "The clock of the AI cores that the device should have.", "设备 AI Core 的额定频率。"],
  ["phase", "Captures of the same job in different roles or windows, such as rollout and update.", "同一作业在不同角色或窗口下的采集，例如 rollout 与 update。"],
  ["noise", "A change that the steps of both runs do not tell from chance.", "两次运行的 step 无法与随机波动区分的变化。"],
];

// ---- elements -------------------------------------------------------------------------------------

function fill(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (key === "tip") node.tip = value;
    else node.setAttribute(key, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined) node.append(child.nodeType ? child : document.createTextNode(String(child)));
  }
  return node;
}
const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
// A picture with a size has a view box, so that it can be shrunk to the width of a paper.
const sv = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), tag === "svg" && attributes.width ? { viewBox: `0 0 ${attributes.width} ${attributes.height}`, ...attributes } : attributes, children);
const $ = (id) => document.getElementById(id);

const NBSP = "\u00a0";
function figures(value) {
  const size = Math.abs(value);
  return size >= 100 ? value.toFixed(0) : size >= 10 ? value.toFixed(1) : value.toFixed(2);
}
function scaled(value, units, base) {
  if (value === null || value === undefined) return "?";
  if (value === 0) return "0";
  let index = 0, size = value;
  while (Math.abs(size) >= base && index + 1 < units.length) { size /= base; index++; }
  return (index === 0 ? String(Math.round(size)) : figures(size)) + NBSP + units[index];
}
const time = (ns) => scaled(ns, ["ns", "us", "ms", "s"], 1000);
const bytes = (n) => scaled(n, ["B", "kB", "MB", "GB", "TB"], 1000);
const percent = (part, all) => all > 0 && part !== null ? (part === 0 ? "0" : figures(100 * part / all)) + NBSP + "%" : "?";
// Long names keep their ends.
const short = (text, most = 28) => text.length <= most ? text : text.slice(0, Math.ceil(most / 2) - 1) + "…" + text.slice(text.length - Math.floor(most / 2));
const sum = (list) => list.reduce((a, b) => a + b, 0);
const mean = (list) => list.length ? sum(list) / list.length : null;

// ---- tip and card ---------------------------------------------------------------------------------

const tip = $("tip");
document.addEventListener("pointermove", (event) => {
  const text = event.target.tip;
  tip.hidden = !text;
  if (!text) return;
  tip.textContent = typeof text === "function" ? text(event) : text;
  tip.hidden = !tip.textContent;
  const left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8);
  tip.style.setProperty("left", left + "px");
  tip.style.setProperty("top", Math.min(event.clientY + 16, innerHeight - tip.offsetHeight - 8) + "px");
});
document.addEventListener("pointerleave", () => { tip.hidden = true; });

let opener = null;
function showCard(title, ...content) {
  const card = $("card");
  opener = document.activeElement;
  card.replaceChildren(el("button", { class: "close", onclick: hideCard }, T("close")), el("h3", {}, title), ...content.flat(Infinity).filter(Boolean));
  card.hidden = false;
  card.focus();
}
function hideCard() {
  $("card").hidden = true;
  if (opener && opener.focus) opener.focus();
}
document.addEventListener("keydown", (event) => { if (event.key === "Escape") hideCard(); });

// On paper everything is unfolded, and folded again behind it. Browsers lay pages out before the media query changes.
function unfold(all) {
  for (const each of document.querySelectorAll(all ? "details:not([open])" : "details[data-folded]")) {
    each.open = all;
    each.toggleAttribute("data-folded", all);
  }
}
matchMedia("print").addEventListener("change", (event) => unfold(event.matches));
addEventListener("beforeprint", () => unfold(true));
addEventListener("afterprint", () => unfold(false));

// A mark that answers to pointer and keyboard.
function clickable(node, action) {
  node.classList.add("click");
  node.setAttribute("tabindex", "0");
  node.setAttribute("role", "button");
  node.addEventListener("click", action);
  node.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === " ") { event.preventDefault(); action(event); }
  });
  return node;
}

function table(head, rows, numeric = []) {
  const cls = (i) => numeric.includes(i) ? { class: "n" } : {};
  return el("div", { class: "scroll", tabindex: rows.length > 12 ? "0" : null }, el("table", {},
    el("thead", {}, el("tr", {}, head.map((text, i) => el("th", { scope: "col", ...cls(i) }, text)))),
    el("tbody", {}, rows.map((row) => el("tr", {}, row.map((cell, i) => el("td", cls(i), cell)))))));
}

function choice(label, options, change) {
  const select = el("select", { "aria-label": label, onchange: () => change(select.value) }, options.map(([value, text]) => el("option", { value }, text)));
  return el("label", {}, label, " ", select);
}

// ---- sections -------------------------------------------------------------------------------------

function section(id, title, ...content) {
  const node = el("section", { id }, el("h2", {}, title), ...content);
  $("main").append(node);
  $("contents").append(el("a", { href: "#" + id }, title));
  return node;
}
const note = (text) => el("p", { class: "soft" }, text);
const swatch = (cls, text) => el("span", {}, sv("svg", { width: 12, height: 12 }, sv("rect", { class: cls, width: 12, height: 12 })), text);
function chart(name, marks, values) {
  charts[name] = { marks, values };
  return el("div", { class: "chart", id: "chart-" + name, "data-marks": marks });
}

function drawRun(data) {
// A sentence of the analysis in the language of the reader; itself where there is no other.
const S = (text, of = data) => [of.said, of.difference && of.difference.said].map((said) => said && Object.hasOwn(said, text ?? "") ? said[text] : null).find((each) => each) ?? text;
const lanes = data.lanes;
const laneCount = lanes.rank.length;
const laneOfRank = new Map();
lanes.rank.forEach((rank, lane) => { if (!laneOfRank.has(rank)) laneOfRank.set(rank, lane); });
const devices = new Set(lanes.rank).size !== laneCount;
const laneName = (lane) => T("rank") + NBSP + lanes.rank[lane] + (devices ? " d" + (lanes.device[lane] ?? "?") : "");
const groupName = (index) => {
  const each = data.communicators[index];
  return each.pg_name ? each.pg_name + " …" + each.group.slice(-3) : "…" + each.group.slice(-6);
};
const basis = data.step_basis === "iteration" ? T("iteration") : T("step");
const stepMeans = data.cells.step_ns.map((row) => mean(row.filter((value) => value !== null)));
const stepMean = mean(stepMeans.filter((value) => value !== null));

function dimensions() {
  const list = [];
  const many = (values) => new Set(values.filter((value) => value !== null)).size > 1;
  if (many(lanes.host)) list.push(["host", T("by host"), (lane) => lanes.host[lane] ?? "?"]);
  for (const name of ["pp", "dp", "tp", "cp", "ep"]) {
    if (many(lanes[name])) list.push([name, T(name === "pp" ? "by stage" : "by " + name), (lane) => (name === "pp" ? T("stage") : name) + NBSP + (lanes[name][lane] ?? "?")]);
  }
  return list;
}

// ---- verdict --------------------------------------------------------------------------------------

function drawHead() {
  const input = data.input;
  const verdict = data.verdict;
  const state = verdict.kind === "withheld" || verdict.kind === "not-profiled" ? "withheld" : verdict.kind === "none" ? "none" : "found";
  // The largest communicator tells how many ranks there are at least.
  const world = input.world_size ?? Math.max(input.ranks_found, ...data.communicators.map((each) => each.size ?? 0));
  const tile = (value, label, warn) => el("div", { class: "tile" + (warn ? " warn" : "") }, el("b", {}, value), el("span", {}, label));
  const gain = verdict.recovered_ns;
  const clock = data.trust.clock;
  const error = clock.residual_p90_ns === null ? clock.violation_max_ns : Math.max(clock.residual_p90_ns, clock.violation_max_ns || 0);
  $("head").append(
    el("h1", {}, "npuprof · " + (input.path ?? "?") + (input.steps.length && input.steps[0] !== null ? " · step " + input.steps[0] + (input.steps.length > 1 ? "–" + input.steps[input.steps.length - 1] : "") : "")),
    el("p", { class: "verdict " + state, id: "verdict" }, S(verdict.text)),
    el("div", { class: "tiles" },
      tile(time(stepMean === null ? null : Math.round(stepMean)), basis + ", " + T("mean over ranks")),
      gain === null ? null : tile(time(gain) + " (" + percent(gain, data.repairs.step_ns ?? stepMean) + ")", T("could be gained")),
      tile(input.ranks_used + " " + T("of") + " " + world, T("ranks profiled"), input.ranks_used < world),
      input.hosts ? tile(input.hosts, T("hosts")) : null,
      world < 2 ? null : tile(clock.method === "none" ? "?" : time(error), T("clock error (p90)"), clock.method === "none"),
      world < 2 ? null : tile(percent(data.trust.ops_matched, data.trust.ops_total), T("Matched operators"), data.trust.ops_total > 0 && data.trust.ops_matched < .98 * data.trust.ops_total)));
  for (const each of data.job_findings) $("head").append(el("p", { class: "soft" }, S(each.detail)));
  if (whole.phases) {
    const pick = choice(T("phase"), whole.phases.map((each, i) => [String(i), each.phase ?? "?"]), (i) => drawRun(whole.phases[+i]));
    pick.querySelector("select").value = String(whole.phases.indexOf(data));
    pick.querySelector("select").id = "phase";
    $("head").prepend(el("div", { class: "controls" }, pick, el("span", { class: "soft" }, `${whole.phases.indexOf(data) + 1} ${T("of")} ${whole.phases.length}`)));
  }
}

function drawNext() {
  const where = data.input.path ?? "DIR";
  const quoted = /^[\w./@%+=:,-]+$/.test(where) ? where : "'" + where.replaceAll("'", "'\\''") + "'";
  const commands = [];
  if (!["withheld", "none", "not-profiled"].includes(data.verdict.kind)) {
    const fixes = [data.verdict.kind + (data.verdict.what ? ":" + data.verdict.what : ""), ...data.verdict.with];
    commands.push(["what the repair gains, and what else would", "npuprof whatif -d " + quoted + fixes.map((fix) => " --fix " + (/^[\w.:-]+$/.test(fix) ? fix : "'" + fix + "'")).join("")]);
  }
  commands.push(["all findings with their evidence", "npuprof advisor -d " + quoted + " -v"]);
  commands.push(laneCount > 1 ? ["who waited for whom, on one clock", "npuprof timeline -d " + quoted + " --slice"] : ["kernels, steps and idle time as a trace", "npuprof timeline -d " + quoted]);
  commands.push(["what was recorded, and the switches for what was not", "npuprof info " + quoted]);
  const copy = (text, button) => {
    const done = () => { button.textContent = T("copied"); };
    if (navigator.clipboard) navigator.clipboard.writeText(text).then(done, () => {});
    else { const range = document.createRange(); range.selectNodeContents(button.previousSibling); getSelection().removeAllRanges(); getSelection().addRange(range); if (document.execCommand("copy")) done(); }
  };
  section("next", T("Do next"), ...commands.map(([why, text]) => {
    const button = el("button", { onclick: () => copy(text, button) }, T("copy"));
    return el("div", { class: "command" }, el("span", { class: "soft" }, T(why)), el("code", {}, text), button);
  }), data.timeline ? el("p", {}, T("All of it on one clock, for ui.perfetto.dev or MindStudio Insight:"), " ", el("a", { href: encodeURIComponent(data.timeline), download: data.timeline, id: "slice" }, data.timeline)) : null);
}

// ---- difference -----------------------------------------------------------------------------------

const signed = (ns) => (ns > 0 ? "+" : ns < 0 ? "−" : "") + time(Math.abs(ns));

// The two steps by kind, the same scale for both.
function drawTwoBars(difference) {
  const kinds = [["compute", "c-compute-2"], ["wait", "c-wait"], ["transfer", "c-transfer"], ["memcpy", "c-memcpy"], ["free", "c-other"], ["between", "c-between"]];
  const kindOf = (leaf) => leaf.startsWith("comm/") ? (leaf.endsWith("/wait") ? "wait" : "transfer") : leaf.split("/")[0];
  const sides = ["base", "new"].map((side) => kinds.map(([kind]) => sum(difference.waterfall.filter((leaf) => kindOf(leaf.leaf) === kind).map((leaf) => leaf[side + "_ns"] ?? 0))));
  const width = Math.max(700, Math.min(1120, innerWidth - 60)), label = 80, row = 30, most = Math.max(...sides.map(sum), 1);
  const x = (ns) => label + (width - label - 90) * ns / most;
  const image = sv("svg", { width, height: 2 * row + 4, role: "img", "aria-label": T("Difference") });
  let marks = 0;
  sides.forEach((values, at) => {
    let begin = 0;
    image.append(sv("text", { x: label - 8, y: at * row + 19, "text-anchor": "end" }, T(at ? "new" : "base")));
    values.forEach((value, i) => {
      if (value <= 0) return;
      image.append(sv("rect", { class: "mark " + kinds[i][1], x: x(begin), y: at * row + 3, width: Math.max(x(begin + value) - x(begin), .3), height: row - 8, "data-ns": value, tip: T(kinds[i][0]) + ": " + time(value) }));
      begin += value;
      marks++;
    });
    image.append(sv("text", { x: x(begin) + 6, y: at * row + 19 }, time(begin)));
  });
  const box = chart("twobars", marks, sides);
  box.append(image);
  return [box, el("div", { class: "legend" }, kinds.map(([kind, cls], i) => sides[0][i] + sides[1][i] > 0 ? swatch(cls, `${T(kind)} ${time(sides[0][i])} → ${time(sides[1][i])}`) : null))];
}

// Ranks in rows of 32: how much longer or shorter each takes by itself. Orange is longer, blue shorter.
function drawChangeMap(difference) {
  const ranks = [...difference.ranks].sort((a, b) => a.new_rank - b.new_rank);
  if (ranks.length < 2) return null;
  const host = el("div");
  const draw = (what) => {
    const change = (each) => what === "own" ? each.own_new_ns - each.own_base_ns : each.delta_ns;
    const most = Math.max(...ranks.map((each) => Math.abs(change(each))), .01 * difference.step.base_ns, 1);
    const cell = 30, across = Math.min(32, ranks.length);
    const image = sv("svg", { width: cell * across + 4, height: cell * Math.ceil(ranks.length / across) + 4, role: "img", "aria-label": T("change by rank") });
    ranks.forEach((each, i) => {
      const ns = change(each), level = Math.min(4, Math.floor(5 * Math.abs(ns) / most));
      const name = each.base_rank === each.new_rank ? each.new_rank : each.base_rank + " → " + each.new_rank;
      const x = cell * (i % across) + 2, y = cell * Math.floor(i / across) + 2;
      image.append(sv("rect", { class: "mark " + (level === 0 ? "d0" : (ns > 0 ? "up" : "down") + level), x, y, width: cell - 2, height: cell - 2, "data-rank": each.new_rank, "data-ns": ns, tip: `${T("rank")} ${name}\n${T("base")} ${time(each.base_ns)}, ${T("new")} ${time(each.new_ns)} (${signed(each.delta_ns)})\n${T("own work")}: ${signed(each.own_new_ns - each.own_base_ns)}` }),
        sv("text", { class: level > 2 ? "inside" : "soft", x: x + cell / 2 - 1, y: y + 18, "text-anchor": "middle" }, each.new_rank));
    });
    const box = chart("changes", ranks.length, ranks.map((each) => [each.new_rank, change(each)]));
    box.append(image);
    const scale = ["down4", "down3", "down2", "down1", "d0", "up1", "up2", "up3", "up4"];
    host.replaceChildren(box, el("div", { class: "legend" }, el("span", {}, signed(-most)), el("span", {}, sv("svg", { width: 9 * 18, height: 12 }, scale.map((cls, i) => sv("rect", { class: cls, x: i * 18, width: 18, height: 12 })))), el("span", {}, signed(most))));
  };
  draw("own");
  return [el("h3", {}, T("change by rank")), el("div", { class: "controls" }, choice("", [["own", T("own work")], ["all", T("step time")]], draw)), host];
}

// Two bars, and between them every leaf that moved the step: up to the right, down to the left.
function drawWaterfall(difference) {
  const leaves = difference.waterfall.filter((leaf) => leaf.delta_ns !== 0).sort((a, b) => Math.abs(b.delta_ns) - Math.abs(a.delta_ns));
  // What is noise has a bar of its own only if it is large.
  const large = leaves.filter((leaf) => leaf.verdict !== "noise" || Math.abs(leaf.delta_ns) > .02 * Math.abs(difference.step.delta_ns)).slice(0, 16);
  const rest = leaves.filter((leaf) => !large.includes(leaf));
  const rows = [[T("base"), difference.step.base_ns, null], ...large.map((leaf) => [leafName(leaf.leaf), leaf.delta_ns, leaf.verdict]), ...(rest.length ? [[`${T("others")} (${rest.length})`, sum(rest.map((leaf) => leaf.delta_ns)), ""]] : []), [T("new"), difference.step.new_ns, null]];
  const width = Math.max(760, Math.min(1120, innerWidth - 60)), label = 270, row = 24;
  let low = Math.min(difference.step.base_ns, difference.step.new_ns), high = Math.max(difference.step.base_ns, difference.step.new_ns), at = difference.step.base_ns;
  for (const [, ns] of rows.slice(1, -1)) { at += ns; low = Math.min(low, at); high = Math.max(high, at); }
  const begin = low > .6 * high ? Math.max(0, low - 1.5 * (high - low)) : 0;
  const x = (ns) => label + (width - label - 130) * (Math.max(ns, begin) - begin) / (high - begin || 1);
  const image = sv("svg", { width, height: row * rows.length + 8, role: "img", "aria-label": T("Difference") });
  at = 0;
  rows.forEach(([name, ns, verdict], i) => {
    const total = verdict === null, from = total ? begin : at, to = total ? ns : at + ns;
    image.append(sv("text", { x: label - 8, y: i * row + 16, "text-anchor": "end" }, short(name, 38)),
      sv("rect", { class: "mark " + (total ? "c-other" : ns > 0 ? "c-wait" : "c-compute-2"), x: Math.min(x(from), x(to)), y: i * row + 3, width: Math.max(Math.abs(x(to) - x(from)), 1), height: row - 8, "data-ns": ns, tip: name + ": " + (total ? time(ns) : signed(ns) + (verdict ? " (" + T(verdict) + ")" : "")) }),
      sv("text", { x: Math.max(x(from), x(to)) + 6, y: i * row + 16 }, total ? time(ns) : signed(ns) + (verdict === "noise" ? " · " + T("noise") : "")));
    at = to;
  });
  const box = chart("difference", rows.length, rows);
  box.append(image);
  return [box, begin > 0 ? note(`${T("The axis begins at")} ${time(begin)}.`) : null];
}

function drawDifference() {
  const difference = data.difference;
  if (!difference) return;
  const gate = difference.gate;
  section("difference", T("Difference"), el("p", {}, S(difference.verdict)), note(T("base") + ": " + difference.base),
    gate && gate.conditions.length ? [el("p", { class: "verdict " + (gate.result === "fail" ? "found" : gate.result === "pass" ? "none" : "withheld"), id: "gate" }, T("gate") + ": " + T(gate.result)),
      el("ul", {}, gate.conditions.map((each) => el("li", {}, each.condition + ": " + T(each.result) + (each.reason ? ", " + S(each.reason) : ""))))] : null,
    drawTwoBars(difference), drawWaterfall(difference),
    difference.causes.length ? el("ul", {}, difference.causes.slice(0, 6).map((each) => el("li", {}, S(each.text)))) : null,
    drawChangeMap(difference),
    difference.warnings.length ? el("ul", {}, difference.warnings.map((each) => el("li", {}, S(each.reason)))) : null);
}

// ---- where the iteration goes ---------------------------------------------------------------------

let computeSeen = 0;
const leafClass = data.leaves.map((leaf) => {
  const parts = leaf.split("/");
  if (parts[0] === "compute") return "c-compute-" + (leaf.includes("(other") ? 8 : Math.min(computeSeen++, 7));
  if (parts[0] === "comm") return leaf.endsWith("/wait") ? "c-wait" : leaf.endsWith("/transfer") ? "c-transfer" : "c-comm";
  if (parts[0] === "between") return "c-between";
  if (parts[0] === "free") return "c-" + parts[1];
  return "c-memcpy";
});
// Communicators without a name are numbers: their ends tell them apart.
const leafName = (leaf) => leaf.split("/").map((part) => /^\d{9,}$/.test(part) ? "…" + part.slice(-6) : T(part.replace(/^\((.*)\)$/, "$1"))).join(" / ");

function drawBars(host, groups) {
  const width = Math.max(520, Math.min(1120, innerWidth - 60)), label = 150, row = 30;
  const rows = groups.map(([name, members]) => {
    const used = members.filter((lane) => data.part_steps[lane] > 0);
    return [name, data.leaves.map((_, i) => used.length ? mean(used.map((lane) => data.parts[lane][i] / data.part_steps[lane])) : 0), used.length];
  }).filter((each) => each[2] > 0);
  const ideal = data.repairs.ideal_ns;
  const most = Math.max(...rows.map((each) => sum(each[1])), ideal ?? 0, 1);
  const x = (ns) => label + (width - label - 90) * ns / most;
  const shown = rows.slice(0, 40);
  const height = (shown.length + (ideal === null ? 0 : 1)) * row + 10;
  const image = sv("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": T("Where the iteration goes") });
  let marks = 0;
  shown.forEach(([name, values], at) => {
    let begin = 0;
    image.append(sv("text", { x: label - 8, y: at * row + 19, "text-anchor": "end" }, short(name, 20)));
    values.forEach((value, i) => {
      if (value <= 0) return;
      const w = x(begin + value) - x(begin);
      image.append(sv("rect", { class: "mark " + leafClass[i], x: x(begin), y: at * row + 3, width: Math.max(w, .3), height: row - 8, "data-leaf": data.leaves[i], tip: leafName(data.leaves[i]) + ": " + time(value) + " (" + percent(value, sum(values)) + ")" }));
      marks++;
      begin += value;
    });
    image.append(sv("text", { x: x(begin) + 6, y: at * row + 19 }, time(begin)));
  });
  if (ideal !== null) {
    const at = shown.length;
    image.append(sv("text", { x: label - 8, y: at * row + 19, "text-anchor": "end", class: "soft" }, T("ideal")),
      sv("rect", { class: "c-good", x: x(0), y: at * row + 3, width: x(ideal) - x(0), height: row - 8, "fill-opacity": .35 }),
      sv("text", { x: x(ideal) + 6, y: at * row + 19 }, time(ideal)),
      // Beside the ends of the bars it would cross their figures.
      ...(shown.some((each) => Math.abs(x(sum(each[1])) - x(ideal)) < 40) ? [] : [sv("line", { class: "ideal", x1: x(ideal), x2: x(ideal), y1: 0, y2: at * row })]));
  }
  const box = chart("bars", marks, rows.map(([name, values]) => [name, ...values]));
  box.append(image);
  const all = rows.length ? data.leaves.map((_, i) => mean(rows.map((each) => each[1][i]))) : [];
  const legend = el("div", { class: "legend" }, data.leaves.map((leaf, i) => all[i] > .002 * sum(all)
    ? swatch(leafClass[i], leafName(leaf) + " " + percent(all[i], sum(all))) : null));
  host.replaceChildren(box, legend, rows.length > shown.length ? note(`+${rows.length - shown.length}`) : "");
}

function drawPartition() {
  if (!data.part_steps.some((steps) => steps > 0)) return;
  const host = el("div");
  const groupings = [["all", T("all ranks"), () => T("all ranks")], ...dimensions(), ["rank", T("by rank"), laneName]];
  const draw = (key) => {
    const by = groupings.find((each) => each[0] === key)[2];
    const groups = new Map();
    for (let lane = 0; lane < laneCount; lane++) {
      const name = by(lane);
      if (!groups.has(name)) groups.set(name, []);
      groups.get(name).push(lane);
    }
    drawBars(host, [...groups]);
  };
  section("parts", data.step_basis === "iteration" ? T("Where the iteration goes") : T("Where the step goes"),
    el("div", { class: "controls" }, choice(T("bars"), groupings, draw)), host);
  draw("all");
}

// ---- heat map -------------------------------------------------------------------------------------

const quantities = [["computing_ns", "computing", time], ["step_ns", "step time", time], ["caused_ns", "wait caused", time], ["waited_ns", "wait suffered", time], ["idle_ns", "idle", time], ["frequency_mhz", "frequency", (mhz) => mhz === null ? "?" : Math.round(mhz) + NBSP + "MHz"], ["memory_bytes", "memory peak", bytes]]
  .filter(([key]) => data.cells[key].some((row) => row.some((value) => value !== null)));
const heatClass = (value, least, most) => value === null ? "nothing" : "h" + (most > least ? Math.min(8, Math.floor(9 * (value - least) / (most - least))) : 0);
const columnName = (i) => { const c = data.columns[i]; return c.first === null ? "–" : c.steps > 1 ? c.first + "–" + c.last : c.first; };

function showLane(lane) {
  const rank = lanes.rank[lane];
  const place = ["dp", "pp", "tp", "cp", "ep"].filter((name) => lanes[name][lane] !== null).map((name) => name + lanes[name][lane]).join(" ");
  const facts = [];
  if (lanes.recovered_ns[lane] !== null) facts.push([T("repair saves"), time(lanes.recovered_ns[lane])]);
  if (lanes.cost_ns[lane] > 0) facts.push([T("waiting of others"), time(lanes.cost_ns[lane])], [T("cause"), T(lanes.cause[lane] ?? "unknown")]);
  for (const [key, name, unit] of quantities) {
    const known = data.cells[key][lane].filter((value) => value !== null);
    if (known.length) facts.push([T(name) + ", " + T("per step"), unit(Math.round(key === "memory_bytes" ? Math.max(...known) : mean(known)))]);
  }
  if (lanes.reserved_bytes[lane] !== null) facts.push([T("reserved"), bytes(lanes.reserved_bytes[lane])]);
  const kernels = data.kernels.types.map((type, i) => [short(type, 30), data.kernels.total_ns[lane][i], data.kernels.median_ns[i]])
    .filter((each) => each[1] !== null && (each[1] > 0 || each[2] > 0)).slice(0, 10)
    .map(([type, own, median]) => [type, time(own), time(median), median > 0 ? (own >= median ? "+" : "") + figures(100 * (own / median - 1)) + NBSP + "%" : "?"]);
  const groups = new Map();
  for (const [of, by, ns] of data.flows.waits) if (by === rank) groups.set(of, [ns, 0]);
  for (const [of, by, ns] of data.flows.causes) if (by === rank) groups.set(of, [(groups.get(of) || [0])[0], ns]);
  const waits = [...groups].sort((a, b) => (b[1][0] + b[1][1]) - (a[1][0] + a[1][1])).slice(0, 10).map(([of, [waited, caused]]) => [groupName(of), time(waited), time(caused)]);
  showCard(laneName(lane),
    el("p", { class: "soft" }, [lanes.host[lane], lanes.device[lane] === null ? null : "device " + lanes.device[lane], place].filter(Boolean).join(" · ")),
    table(["", ""], facts, [1]),
    kernels.length ? [el("h3", {}, T("kernel type")), table([T("kernel type"), T("this rank"), T("median"), ""], kernels, [1, 2, 3])] : null,
    waits.length ? [el("h3", {}, T("communicator")), table([T("communicator"), T("waits here"), T("causes here")], waits, [1, 2])] : null);
}

function drawHeat(host, key, order) {
  const [, name, unit] = quantities.find((each) => each[0] === key);
  const rows = [...Array(laneCount).keys()];
  if (order !== "rank") rows.sort((a, b) => { const l = lanes[order][a] ?? -1, r = lanes[order][b] ?? -1; return l < r ? -1 : l > r ? 1 : a - b; });
  const cells = data.cells[key];
  const values = cells.flat().filter((value) => value !== null);
  let least = Infinity, most = -Infinity;
  for (const value of values) { if (value < least) least = value; if (value > most) most = value; }
  // Noise must not look like a difference: the scale spans a tenth at least.
  if (most > 0 && most - least < .1 * most) most = 1.1 * least;
  const outliers = new Set(data.outliers[key]);
  const columns = data.columns.length;
  const count = laneCount * columns;
  const label = 110, top = 20;
  const w = Math.max(14, Math.min(64, Math.floor((Math.min(1120, innerWidth - 60) - label) / Math.max(columns, 1))));
  const h = laneCount > 512 ? 1 : laneCount > 256 ? 2 : laneCount > 64 ? 5 : laneCount > 24 ? 13 : 20;
  const width = label + w * columns + 4, height = top + h * laneCount + 4;
  const describe = (lane, column) => laneName(lane) + (lanes.host[lane] ? " · " + lanes.host[lane] : "") + "\nstep " + columnName(column) + (data.columns[column].steps > 1 ? " (" + T("mean of") + data.columns[column].steps + T("steps") + ")" : "") + "\n" + T(name) + ": " + unit(cells[lane][column]);
  const every = h >= 14 ? 1 : 2 ** Math.ceil(Math.log2(14 / h));
  let picked = [0, 0];
  let image, mark;
  const at = (event) => {
    const box = image.getBoundingClientRect();
    const column = Math.floor((event.clientX - box.left - label) / w), row = Math.floor((event.clientY - box.top - top) / h);
    return column >= 0 && column < columns && row >= 0 && row < laneCount ? [row, column] : null;
  };
  if (count <= MOST_SVG_MARKS) {
    image = sv("svg", { width, height, tabindex: "0", role: "img", "aria-label": T("Ranks × steps") + ": " + T(name) });
    for (let c = 0; c < columns; c++) image.append(sv("text", { x: label + w * c + w / 2, y: 13, "text-anchor": "middle", class: "soft" }, w > 26 || c % 2 === 0 ? columnName(c) : ""));
    rows.forEach((lane, row) => {
      if (row % every === 0) image.append(sv("text", { x: label - 6, y: top + row * h + Math.min(h, 14) - 1, "text-anchor": "end" }, laneName(lane)));
      for (let c = 0; c < columns; c++)
        image.append(sv("rect", { class: "mark " + heatClass(cells[lane][c], least, most) + (outliers.has(lane * columns + c) ? " outlier" : ""), x: label + w * c + 1, y: top + h * row + (h > 6 ? 1 : 0), width: w - 2, height: Math.max(h - (h > 6 ? 2 : 0), 1), "data-lane": lane, "data-column": c, "data-value": cells[lane][c] ?? "" }));
    });
    mark = sv("rect", { class: "picked", fill: "none", width: w - 2, height: Math.max(h, 3), visibility: "hidden" });
    image.append(mark);
  } else {
    const ratio = Math.min(devicePixelRatio || 1, 2);
    image = el("canvas", { width: width * ratio, height: height * ratio, tabindex: "0", role: "img", "aria-label": T("Ranks × steps") + ": " + T(name) });
    image.style.setProperty("width", width + "px");
    image.style.setProperty("height", height + "px");
    const pen = image.getContext("2d"), style = getComputedStyle(document.documentElement);
    const colour = (which) => style.getPropertyValue(which);
    pen.scale(ratio, ratio);
    pen.font = "12px system-ui, sans-serif";
    pen.fillStyle = colour("--soft");
    pen.textAlign = "center";
    for (let c = 0; c < columns; c++) pen.fillText(w > 26 || c % 2 === 0 ? columnName(c) : "", label + w * c + w / 2, 13);
    pen.textAlign = "right";
    rows.forEach((lane, row) => {
      if (row % (every * 2) === 0) { pen.fillStyle = colour("--ink"); pen.fillText(laneName(lane), label - 6, top + row * h + 9); }
      for (let c = 0; c < columns; c++) {
        const cls = heatClass(cells[lane][c], least, most);
        pen.fillStyle = colour(outliers.has(lane * columns + c) ? "--bad" : cls === "nothing" ? "--panel" : "--" + cls);
        // One row of a thousand is to be seen.
        if (outliers.has(lane * columns + c)) pen.fillRect(label + w * c + 1, top + h * row - 1, w - 2, h + 2);
        else pen.fillRect(label + w * c + 1, top + h * row, w - 2, h);
      }
    });
  }
  image.tip = (event) => { const cell = at(event); return cell ? describe(rows[cell[0]], cell[1]) : ""; };
  for (const child of image.children) if (child.tagName === "rect") child.tip = image.tip;
  const live = el("p", { class: "soft", "aria-live": "polite" }, NBSP);
  const pick = (row, column) => {
    picked = [Math.max(0, Math.min(laneCount - 1, row)), Math.max(0, Math.min(columns - 1, column))];
    live.textContent = describe(rows[picked[0]], picked[1]).replaceAll("\n", " · ");
    if (mark) { mark.setAttribute("x", label + w * picked[1] + 1); mark.setAttribute("y", top + h * picked[0]); mark.setAttribute("visibility", "visible"); }
  };
  image.addEventListener("click", (event) => { const cell = at(event); if (cell) { pick(...cell); showLane(rows[cell[0]]); } });
  image.addEventListener("keydown", (event) => {
    const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], PageUp: [-16, 0], PageDown: [16, 0] }[event.key];
    if (move) { event.preventDefault(); pick(picked[0] + move[0], picked[1] + move[1]); }
    if (event.key === "Enter" || event.key === " ") { event.preventDefault(); pick(...picked); showLane(rows[picked[0]]); }
  });
  const box = chart("heat", count, cells);
  box.append(image);
  const scale = el("div", { class: "legend" }, el("span", {}, unit(least)), el("span", {}, sv("svg", { width: 9 * 18, height: 12 }, [...Array(9).keys()].map((i) => sv("rect", { class: "h" + i, x: i * 18, width: 18, height: 12 })))), el("span", {}, unit(most)), outliers.size ? el("span", {}, T(mark ? "outliers are outlined" : "outliers are red")) : null);
  // Those that are far off are named as well.
  const far = new Map();
  for (const cell of outliers) { const lane = Math.floor(cell / columns); far.set(lane, (far.get(lane) || 0) + 1); }
  const named = [...far].sort((a, b) => b[1] - a[1] || a[0] - b[0]).slice(0, 8).map(([lane, steps]) => el("button", { onclick: () => showLane(lane) }, `${laneName(lane)}: ${steps} ${T("of")} ${columns}`));
  host.replaceChildren(box, scale, named.length ? el("div", { class: "controls" }, el("span", { class: "soft" }, T("outliers, in so many columns") + ":"), named, far.size > 8 ? "+" + (far.size - 8) : null) : "", live);
}

function drawHeatMap() {
  if (!quantities.length || !data.columns.length) return;
  const host = el("div");
  let key = quantities[0][0], order = "rank";
  const orders = [["rank", T("by rank")], ...dimensions().map(([name, text]) => [name, text])];
  section("heat", T("Ranks × steps"), el("div", { class: "controls" },
    choice(T("quantity"), quantities.map(([id, name]) => [id, T(name)]), (value) => { key = value; drawHeat(host, key, order); }),
    choice(T("order"), orders, (value) => { order = value; drawHeat(host, key, order); })), host);
  drawHeat(host, key, order);
}

// ---- who made whom wait ---------------------------------------------------------------------------

function showGroup(indices) {
  const index = indices[0];
  const rows = data.operators.filter((each) => indices.includes(each[0])).sort((a, b) => b[4] - a[4]).slice(0, 40).map(([, type, step, last, waited, took]) => [type ?? "?", step ?? "–", last === null ? "?" : T("rank") + NBSP + last, time(waited), time(took)]);
  const each = data.communicators[index];
  const total = (name) => sum(indices.map((i) => data.communicators[i][name] ?? 0));
  showCard(indices.length > 1 ? (each.pg_name ?? "?") + ": " + indices.length + " " + T("communicators") : groupName(index), el("p", { class: "soft" }, (indices.length > 1 ? "" : `${each.observed ?? "?"} / ${each.size ?? "?"} ranks · `) + `${total("ops")} ops · ${T("wait")} ${time(total("wait_ns"))} · ${T("transfer")} ${time(total("transit_ns"))}`),
    table([T("operator"), "step", T("last to come"), T("waited"), T("longest")], rows, [3, 4]));
}

// The operators in which a rank came last: through them others waited for it.
function showPair(cause, victim, ns) {
  const rows = data.operators.filter((each) => each[3] === cause).sort((a, b) => b[4] - a[4]).slice(0, 40).map(([group, type, step, , waited, took]) => [type ?? "?", groupName(group), step ?? "–", time(waited), time(took)]);
  showCard(`${T("rank")} ${cause} → ${T("rank")} ${victim}: ${time(ns)}`,
    rows.length ? el("p", { class: "soft" }, T("operators in which it came last") + `: ${T("rank")} ${cause}`) : note(T("it came last in none of the operators that are listed: the waiting was passed on to it")),
    rows.length ? table([T("operator"), T("communicator"), "step", T("waited"), T("longest")], rows, [3, 4]) : null,
    laneOfRank.has(cause) ? el("button", { onclick: () => showLane(laneOfRank.get(cause)) }, T("rank") + NBSP + cause) : null);
}

// Keep the largest, put the rest together.
function largest(sums, most) {
  const all = sum([...sums.values()]);
  // A thousand ranks have little each.
  const least = laneCount > 128 ? .001 : .01;
  const order = [...sums].filter((each) => each[1] >= least * all).sort((a, b) => b[1] - a[1]);
  return new Set(order.slice(0, order.length > most ? most - 1 : most).map((each) => each[0]));
}

function drawFlow(host) {
  const causeName = (rank) => rank === null ? T("not profiled") : rank === -1 ? T("nobody known") : rank === "others" ? T("others") : T("rank") + NBSP + rank;
  // In the data -2 stands for ranks with little each.
  const total = (list, at) => { const sums = new Map(); for (const each of list) if (each[at] !== -2) sums.set(each[at], (sums.get(each[at]) || 0) + each[2]); return sums; };
  // Many communicators are shown by what they are for.
  const byRole = data.communicators.length > 16;
  const roles = new Map();
  data.communicators.forEach((each, i) => { const role = byRole ? each.pg_name ?? "?" : i; if (!roles.has(role)) roles.set(role, []); roles.get(role).push(i); });
  const roleOf = byRole ? (index) => data.communicators[index].pg_name ?? "?" : (index) => index;
  const flows = { causes: data.flows.causes.map(([of, rank, ns]) => [roleOf(of), rank, ns]), waits: data.flows.waits.map(([of, rank, ns]) => [roleOf(of), rank, ns]) };
  const keep = [largest(total(flows.causes, 1), 10), largest(total(flows.causes, 0), 8), largest(total(flows.waits, 1), 14)];
  const merge = (list, left, right, swap) => {
    const sums = new Map();
    for (const [of, rank, ns] of list) {
      const group = left.has(of) ? of : "others", by = right.has(rank) ? rank : "others";
      const id = JSON.stringify(swap ? [by, group] : [group, by]);
      sums.set(id, (sums.get(id) || 0) + ns);
    }
    return [...sums].map(([id, ns]) => [...JSON.parse(id), ns]);
  };
  const causes = merge(flows.causes, keep[1], keep[0], true), waits = merge(flows.waits, keep[1], keep[2], false);
  const all = sum(causes.map((each) => each[2]));
  if (!all) { host.replaceChildren(note(T("no waiting was measured"))); return; }
  const column = (list, at) => [...total(list, at)].sort((a, b) => (a[0] === "others") - (b[0] === "others") || b[1] - a[1]);
  const columns = [column(causes, 0), column(causes, 1), column(waits, 1)];
  const width = Math.max(720, Math.min(1120, innerWidth - 60)), bar = 14;
  const height = Math.max(180, 30 * Math.max(...columns.map((each) => each.length)));
  const xs = [130, width / 2 - bar / 2, width - 130 - bar];
  const image = sv("svg", { width, height: height + 34, role: "img", "aria-label": T("Who made whom wait") });
  ["cause", "communicator", "victim"].forEach((name, i) => image.append(sv("text", { class: "soft", x: xs[i] + bar / 2, y: 12, "text-anchor": "middle" }, T(name))));
  let lowest = 0;
  const places = columns.map((list) => {
    const scale = Math.max(height - 14 * list.length, 40) / all;
    let y = 24;
    // A thin bar needs the room of its label.
    return new Map(list.map(([id, ns]) => { const h = Math.max(ns * scale, 1.5), room = Math.max(0, 15 - h) / 2, place = { y: y + room, h, out: y + room, into: y + room, scale, ns }; y += h + 2 * room + 5; lowest = Math.max(lowest, y); return [id, place]; }));
  });
  let marks = 0;
  const ribbon = (from, to, x0, x1, ns, cls, text, action) => {
    const h0 = ns * from.scale, h1 = ns * to.scale, mid = (x0 + x1) / 2;
    const node = sv("path", { class: "flow mark " + cls, "data-ns": ns, tip: text, d: `M${x0},${from.out} C${mid},${from.out} ${mid},${to.into} ${x1},${to.into} L${x1},${to.into + h1} C${mid},${to.into + h1} ${mid},${from.out + h0} ${x0},${from.out + h0} Z` });
    if (action) clickable(node, action);
    from.out += h0; to.into += h1; marks++;
    image.append(node);
  };
  const groupText = (id) => id === "others" ? T("others") : byRole ? `${id} (${roles.get(id).length})` : groupName(id);
  for (const [rank, group, ns] of causes.sort((a, b) => b[2] - a[2])) ribbon(places[0].get(rank), places[1].get(group), xs[0] + bar, xs[1], ns, rank === "others" ? "many" : "", `${causeName(rank)} → ${groupText(group)}: ${time(ns)} (${percent(ns, all)})`, group === "others" ? null : () => showGroup(roles.get(group)));
  for (const [group, rank, ns] of waits.sort((a, b) => b[2] - a[2])) ribbon(places[1].get(group), places[2].get(rank), xs[1] + bar, xs[2], ns, rank === "others" ? "many" : "in", `${groupText(group)} → ${causeName(rank)}: ${time(ns)} (${percent(ns, all)})`, group === "others" ? null : () => showGroup(roles.get(group)));
  places.forEach((map, i) => map.forEach((place, id) => {
    const text = i === 1 ? groupText(id) : causeName(id);
    const node = sv("rect", { class: "mark " + (id === "others" ? "c-other" : i === 0 ? "c-wait" : i === 1 ? "c-comm" : "c-transfer"), x: xs[i], y: place.y, width: bar, height: place.h, tip: text + ": " + time(place.ns) });
    if (i === 1 && id !== "others") clickable(node, () => showGroup(roles.get(id)));
    if (i !== 1 && laneOfRank.has(id)) clickable(node, () => showLane(laneOfRank.get(id)));
    marks++;
    image.append(node, sv("text", { x: i === 2 ? xs[i] + bar + 6 : xs[i] - 6, y: place.y + place.h / 2 + 4, "text-anchor": i === 2 ? "start" : "end" }, short(text, 22)));
  }));
  image.setAttribute("height", lowest + 8);
  const box = chart("flow", marks, { causes, waits });
  box.append(image);
  host.replaceChildren(box);
}

function drawPairs(host) {
  const pairs = data.flows.pairs;
  const rows = [...new Set(pairs.map((each) => each[0]))], columns = [...new Set(pairs.map((each) => each[1]))];
  if (!pairs.length) { host.replaceChildren(note(T("no waiting was measured"))); return; }
  const most = Math.max(...pairs.map((each) => each[2]));
  const w = 40, h = 22, label = 90;
  const image = sv("svg", { width: label + w * columns.length + 10, height: 40 + h * rows.length, role: "img", "aria-label": T("as a matrix") });
  columns.forEach((rank, i) => image.append(sv("text", { x: label + w * i + w / 2, y: 28, "text-anchor": "middle" }, rank)));
  image.append(sv("text", { class: "soft", x: label, y: 11 }, T("victim") + " →"));
  rows.forEach((rank, i) => image.append(sv("text", { x: label - 6, y: 36 + h * i + 15, "text-anchor": "end" }, T("rank") + NBSP + rank)));
  for (const [cause, victim, ns] of pairs)
    image.append(clickable(sv("rect", { class: "mark " + heatClass(ns, 0, most), x: label + w * columns.indexOf(victim) + 1, y: 36 + h * rows.indexOf(cause), width: w - 2, height: h - 2, tip: `${T("rank")} ${cause} → ${T("rank")} ${victim}: ${time(ns)}` }), () => showPair(cause, victim, ns)));
  const box = chart("pairs", pairs.length, pairs);
  box.append(image);
  host.replaceChildren(box);
}

function drawWaiting() {
  if (!data.communicators.length) return;
  const host = el("div");
  const forms = { flow: drawFlow, matrix: drawPairs };
  section("waiting", T("Who made whom wait"), el("div", { class: "controls" }, choice("", [["flow", T("as a flow")], ["matrix", T("as a matrix")]], (form) => forms[form](host))), host,
    el("details", {}, el("summary", {}, T("communicators") + ": " + data.communicators.length),
      table([T("communicator"), "ranks", "ops", T("wait"), T("transfer"), "GB/s"], data.communicators.map((each, i) => [each.wait_ns ?? -1, groupName(i), `${each.observed ?? "?"} / ${each.size ?? "?"}`, each.ops ?? "?", time(each.wait_ns), time(each.transit_ns), each.gb_per_s === null ? "?" : figures(each.gb_per_s)]).sort((a, b) => b[0] - a[0]).slice(0, 60).map((row) => row.slice(1)), [2, 3, 4, 5])));
  drawFlow(host);
}

// ---- links ----------------------------------------------------------------------------------------

// All within hosts: a cell for each host instead of a diagonal.
function drawWithinHosts(host, transport, rows, name, speed, most) {
  const across = 16, w = 64, h = 22;
  const image = sv("svg", { width: across * w + 4, height: Math.ceil(rows.length / across) * h + 6, role: "img", "aria-label": T("Links") + " " + transport });
  rows.forEach((each, i) => {
    const gb = speed(each), x = (i % across) * w + 2, y = Math.floor(i / across) * h + 3, cls = heatClass(gb, 0, most + 1e-9);
    image.append(sv("rect", { class: "mark " + cls + (each[6] === "slow" ? " slow" : ""), x, y, width: w - 2, height: h - 2, "data-link": each[0] + "-" + each[1], tip: `${name(each[0])} · ${transport}\n${gb === null ? "?" : figures(gb) + NBSP + "GB/s"} · ${bytes(each[3])} · ${time(each[4])}` }),
      sv("text", { class: /h[5-8]/.test(cls) ? "inside" : "", x: x + w / 2 - 1, y: y + 14, "text-anchor": "middle" }, short(String(name(each[0])), 9)));
  });
  const box = chart("links", rows.length, rows);
  box.append(image);
  host.replaceChildren(note(T("All of it is within hosts: a cell for each, by bandwidth.")), box, el("div", { class: "legend" }, el("span", {}, "0"), el("span", {}, sv("svg", { width: 162, height: 12 }, [...Array(9).keys()].map((i) => sv("rect", { class: "h" + i, x: i * 18, width: 18, height: 12 })))), el("span", {}, figures(most) + NBSP + "GB/s")));
}

function drawLinkMatrix(host, transport) {
  const rows = data.links.rows.filter((each) => (each[2] ?? "?") === transport && each[0] !== each[1] || (data.links.ends === "host" && (each[2] ?? "?") === transport));
  const ends = [...new Set(rows.flatMap((each) => [each[0], each[1]]))].sort((a, b) => a - b);
  const name = (end) => data.links.ends === "host" ? lanes.host[end] ?? "?" : String(end);
  // A few bytes take as long as their latency: that is no bandwidth.
  const little = (each) => each[3] !== null && each[3] < 1e6 && each[6] !== "slow";
  const speed = (each) => each[3] === null || !each[4] || little(each) ? null : each[3] / each[4];
  const speeds = rows.map(speed).filter((value) => value !== null);
  let most = 1e-9;
  for (const value of speeds) if (value > most) most = value;
  if (data.links.ends === "host" && rows.length > 1 && rows.every((each) => each[0] === each[1])) { drawWithinHosts(host, transport, rows, name, speed, most); return; }
  const cell = Math.max(5, Math.min(34, Math.floor(760 / Math.max(ends.length, 1)))), label = data.links.ends === "host" ? 120 : 44;
  const image = sv("svg", { width: label + cell * ends.length + 10, height: label + cell * ends.length + 6, role: "img", "aria-label": T("Links") + " " + transport });
  const place = new Map(ends.map((end, i) => [end, i]));
  const every = Math.ceil(13 / cell);
  const flat = cell >= 20 && data.links.ends === "rank";
  image.append(sv("text", { class: "soft", x: label, y: 12 }, T("to") + " →"), sv("text", { class: "soft", x: 0, y: label + 12 }, T("from")));
  ends.forEach((end, i) => {
    if (i % every) return;
    image.append(sv("text", { x: label - 4, y: label + cell * i + cell / 2 + 4, "text-anchor": "end" }, short(name(end), 16)),
      flat ? sv("text", { x: label + cell * i + cell / 2, y: label - 5, "text-anchor": "middle" }, name(end))
        : sv("text", { transform: `translate(${label + cell * i + cell / 2 + 4},${label - 4}) rotate(-90)` }, short(name(end), 16)));
  });
  for (const each of rows) {
    const [src, dst, , size, took, expected, verdict, kind] = each;
    const gb = speed(each);
    image.append(sv("rect", { class: "mark " + heatClass(gb === null ? null : Math.log(Math.max(gb, most / 100)), Math.log(most / 100), Math.log(most) + 1e-9) + (verdict === "slow" ? " slow" : ""), x: label + cell * place.get(dst) + 1, y: label + cell * place.get(src) + 1, width: Math.max(cell - 2, 2), height: Math.max(cell - 2, 2), "data-link": src + "-" + dst,
      tip: `${name(src)} → ${name(dst)} · ${transport}\n${gb === null ? (little(each) ? T("too little for a bandwidth") : "?") : figures(gb) + NBSP + "GB/s"} · ${bytes(size)} · ${time(took)}` + (verdict === "slow" ? `\n${T("slower than comparable links")} (${kind ?? "link"}): ${expected && size ? figures(size / expected) + NBSP + "GB/s" : "?"}` : "") }));
    if (verdict === "slow" && cell >= 14) image.append(sv("text", { class: "inside", x: label + cell * place.get(dst) + cell / 2, y: label + cell * place.get(src) + cell / 2 + 5, "text-anchor": "middle" }, "×"));
  }
  const box = chart("links", rows.length, rows);
  box.append(image);
  const slow = rows.filter((each) => each[6] === "slow").slice(0, 12).map((each) => [name(each[0]) + " → " + name(each[1]), each[7] ?? "?", speed(each) === null ? "?" : figures(speed(each)) + NBSP + "GB/s", each[5] && each[3] ? figures(each[3] / each[5]) + NBSP + "GB/s" : "?"]);
  host.replaceChildren(box, slow.length ? table([T("slow"), T("kind"), T("bandwidth"), T("comparable links")], slow, [2, 3]) : "",
    speeds.length ? el("div", { class: "legend" }, el("span", {}, "≤ " + figures(most / 100) + NBSP + "GB/s"), el("span", {}, sv("svg", { width: 162, height: 12 }, [...Array(9).keys()].map((i) => sv("rect", { class: "h" + i, x: i * 18, width: 18, height: 12 })))), el("span", {}, figures(most) + NBSP + "GB/s"), el("span", { class: "soft" }, T("logarithmic")), rows.some((each) => speed(each) === null) ? swatch("nothing", T("too little for a bandwidth")) : null, slow.length ? swatch("slow h5", T("slower than comparable links")) : null) : "");
}

function drawLinks() {
  if (!data.links.rows.length) return;
  const transports = [...new Set(data.links.rows.map((each) => each[2] ?? "?"))].filter((name) => name !== "LOCAL").sort();
  if (!transports.length) return;
  const first = transports.find((name) => data.links.rows.some((each) => (each[2] ?? "?") === name && each[6] === "slow")) ?? transports[0];
  const host = el("div");
  const pick = choice("", transports.map((name) => [name, name]), (name) => drawLinkMatrix(host, name));
  pick.querySelector("select").value = first;
  section("links", T("Links"), el("div", { class: "controls" }, pick), host, data.links.left_out ? note(`${data.links.left_out}: ${T("not profiled")}`) : "");
  drawLinkMatrix(host, first);
}

// ---- pipeline -------------------------------------------------------------------------------------

function drawPipeline() {
  if (!data.strips.length) return;
  const cls = { useful: "c-compute-2", other_comm: "c-comm", warmup: "c-other", imbalance: "c-wait", transfer: "c-transfer", host: "c-host", tail: "c-between" };
  const most = Math.max(...data.strips.map((strip) => { const last = strip.slices[strip.slices.length - 1]; return last ? last[0] + last[1] : 0; }));
  const width = Math.max(760, Math.min(1140, innerWidth - 60)), label = 140, row = 30;
  const x = (ns) => label + (width - label - 10) * ns / most;
  const image = sv("svg", { width, height: row * data.strips.length + 24, role: "img", "aria-label": T("Pipeline") });
  let marks = 0;
  data.strips.forEach((strip, i) => {
    image.append(sv("text", { x: label - 8, y: i * row + 19, "text-anchor": "end" }, `${T("stage")} ${strip.stage} · ${T("rank")} ${strip.rank}`));
    for (const [begin, length, kind] of strip.slices) {
      image.append(sv("rect", { class: "mark " + cls[kind], x: x(begin), y: i * row + 4, width: Math.max(x(begin + length) - x(begin), .2), height: row - 9, tip: `${T(kind)}: ${time(length)}` }));
      marks++;
    }
  });
  image.append(sv("text", { class: "soft", x: label, y: row * data.strips.length + 16 }, "0"), sv("text", { class: "soft", x: width - 10, y: row * data.strips.length + 16, "text-anchor": "end" }, time(most)));
  const box = chart("pipeline", marks, data.strips);
  box.append(image);
  const step = data.strips[0].step;
  const rows = data.pipeline;
  section("pipeline", T("Pipeline"), note(`${T("The step of median length, one rank of each stage, on the common clock")}: step ${step ?? "–"}`), box,
    el("div", { class: "legend" }, Object.entries(cls).map(([kind, name]) => swatch(name, T(kind)))),
    el("details", {}, el("summary", {}, T("figures") + ": step " + (step ?? "–")), table([T("rank"), T("stage"), ...Object.keys(cls).map((kind) => T(kind)), T("ideal")], rows.slice(0, 256).map((each) => [each.rank, each.stage, ...Object.keys(cls).map((kind) => time(each[kind + "_ns"])), time(each.ideal_ns)]), [2, 3, 4, 5, 6, 7, 8, 9])));
}

// ---- repairs --------------------------------------------------------------------------------------

function drawRepairs() {
  const all = data.repairs.rows.filter((each) => each.saved_ns > 0.0005 * data.repairs.step_ns);
  if (data.repairs.step_ns === null || !data.repairs.rows.length) return;
  const step = data.repairs.step_ns;
  const width = Math.max(700, Math.min(1120, innerWidth - 60)), label = 190, row = 26;
  const x = (ns) => label + (width - label - 210) * ns / step;
  const shown = all.slice(0, 14);
  const image = sv("svg", { width, height: row * (shown.length + 1) + 6, role: "img", "aria-label": T("Repairs") });
  const bar = (at, name, ns, cls, text) => image.append(sv("text", { x: label - 8, y: at * row + 17, "text-anchor": "end" }, short(name, 26)), sv("rect", { class: "mark " + cls, x: x(0), y: at * row + 3, width: Math.max(x(ns) - x(0), 1), height: row - 8, "data-ns": ns, tip: text }), sv("text", { x: x(ns) + 6, y: at * row + 17 }, text));
  bar(0, T("as it is, replayed"), step, "c-other", time(step));
  const isBound = (fix) => fix === "all" || fix === "hide-comm";
  shown.forEach((each, i) => bar(i + 1, isBound(each.fix) ? each.fix + " (" + T("bound") + ")" : each.fix, each.step_ns, isBound(each.fix) ? "c-unknown" : "c-compute-2", `${time(each.step_ns)} · ${T("saves")} ${time(each.saved_ns)} (${percent(each.saved_ns, step)})`));
  const box = chart("repairs", shown.length + 1, data.repairs.rows);
  box.append(image);
  const result = el("p", { id: "combined", "aria-live": "polite" });
  const ticks = data.repairs.combine.map((fix, i) => { const tick = el("input", { type: "checkbox", id: "fix-" + i, onchange: update }); return [tick, el("label", { for: "fix-" + i }, " " + short(fix, 40))]; });
  function update() {
    const set = ticks.reduce((bits, [tick], i) => bits | (tick.checked ? 1 << i : 0), 0);
    const ns = data.repairs.subsets[set];
    result.textContent = set === 0 ? `${T("nothing ticked")}: ${time(ns)}` : `${T("with the repairs ticked")}: ${time(ns)}, ${T("saves")} ${time(step - ns)} (${percent(step - ns, step)})`;
    result.setAttribute("data-ns", ns);
  }
  section("repairs", T("Repairs"), box, data.repairs.combine.length > 1 ? [note(T("Tick repairs to combine them: the step is replayed for each choice.")), el("div", { class: "controls" }, ticks.map(([tick, text]) => el("span", {}, tick, text))), result] : null);
  if (data.repairs.combine.length > 1) update();
}

// ---- findings -------------------------------------------------------------------------------------

function drawFindings() {
  if (!data.findings) return;
  const cell = (column, value) => value === null ? "?" : Array.isArray(value) ? value.join(", ") : typeof value === "string" && /^\["/.test(value) ? listed(value) : typeof value === "number" ? (/_ns$|^ns$/.test(column) ? time(value) : /bytes$/.test(column) ? bytes(value) : Number.isInteger(value) ? String(value) : figures(value)) : String(value);
  const listed = (text) => { try { return JSON.parse(text).join(", "); } catch { return text; } };
  const one = (each, i) => {
    // Columns that are there in two languages: the one of the page.
    const names = each.evidence ? each.evidence.columns : [];
    const kept = [...names.keys()].filter((c) => zh ? !names.includes(names[c] + "_zh") : !names[c].endsWith("_zh"));
    const evidence = each.evidence && each.evidence.rows.length ? [el("h3", {}, T("evidence")), table(kept.map((c) => names[c].replace(/_(ns|zh)$/, "").replaceAll("_", " ")), each.evidence.rows.slice(0, 50).map((row) => kept.map((c) => cell(names[c], row[c])))), each.evidence.rows_total > 50 ? note(`+${each.evidence.rows_total - 50}`) : null] : null;
    return el("details", { open: i < 2, "data-rule": each.rule },
      el("summary", {}, el("span", { class: "sev " + each.severity }, T(each.severity)), " ", each.gain_ns === null ? "" : time(each.gain_ns) + " (" + (each.gain_pct === null ? "?" : figures(each.gain_pct) + NBSP + "%") + ") · ", each.title || each.rule),
      el("p", {}, each.message),
      each.advice.length ? [el("h3", {}, T("what to do")), el("ul", {}, each.advice.map((text) => el("li", {}, text)))] : null, evidence,
      each.docs && each.docs.length ? el("p", { class: "soft" }, each.docs.map((text) => [text, " "])) : null, el("p", { class: "soft" }, each.rule));
  };
  charts.findings = { marks: data.findings.length, values: data.findings.map((each) => each.rule) };
  // Findings of one cause stand together, where the first of them is.
  const groups = new Map();
  data.findings.forEach((each, i) => { const key = each.cause ?? i; groups.set(key, [...(groups.get(key) || []), one(each, i)]); });
  section("findings", T("Findings"), data.findings.length ? [...groups].map(([cause, list]) => list.length > 1 ? el("div", { class: "cause" }, el("h3", {}, `${T("one cause")}: ${cause}`), list) : list) : note(T("No finding.")));
}

// ---- the rest -------------------------------------------------------------------------------------

// Ranks side by side: what they reserved at most, what of it was allocated, and the limit where it is known.
function drawMemoryRanks(snapshots, who) {
  const order = snapshots.ranks.map((each, of) => of).filter((of) => snapshots.ranks[of].peak_reserved_bytes !== null).sort((a, b) => snapshots.ranks[b].peak_reserved_bytes - snapshots.ranks[a].peak_reserved_bytes);
  const shown = order.slice(0, 64), row = 22, width = Math.max(700, Math.min(1120, innerWidth - 60)), label = 150;
  const most = Math.max(...order.map((of) => Math.max(snapshots.ranks[of].peak_reserved_bytes, snapshots.ranks[of].limit_bytes ?? 0)), 1);
  const x = (n) => label + (width - label - 210) * n / most;
  const image = sv("svg", { width, height: row * shown.length + 6, role: "img", "aria-label": T("Memory") });
  shown.forEach((of, i) => {
    const each = snapshots.ranks[of], y = i * row + 3;
    const words = `${who(of)}: ${T("reserved")} ${bytes(each.peak_reserved_bytes)}, ${T("allocated")} ${bytes(each.peak_allocated_bytes)}` + (each.ooms > 0 ? `; ${T("out of memory")}: ${each.ooms}` : "");
    image.append(sv("text", { x: label - 8, y: y + 13, "text-anchor": "end" }, short(who(of), 20)),
      sv("rect", { class: "mark c-compute-5", x: x(0), y, width: Math.max(1, x(each.peak_reserved_bytes) - x(0)), height: row - 6, "data-bytes": each.peak_reserved_bytes, tip: words }),
      sv("rect", { class: "mark c-compute-1", x: x(0), y: y + 3, width: Math.max(1, x(each.peak_allocated_bytes ?? 0) - x(0)), height: row - 12, tip: words }),
      sv("text", { x: x(Math.max(each.peak_reserved_bytes, each.limit_bytes ?? 0)) + 6, y: y + 13 }, bytes(each.peak_reserved_bytes) + (each.ooms > 0 ? " · " + T("out of memory") : "")));
    if (each.limit_bytes !== null) image.append(sv("line", { class: "ideal", x1: x(each.limit_bytes), x2: x(each.limit_bytes), y1: y - 2, y2: y + row - 4 }));
  });
  const box = chart("memory-ranks", shown.length, shown.map((of) => [snapshots.ranks[of].rank, snapshots.ranks[of].peak_reserved_bytes]));
  box.append(image);
  return [box, el("div", { class: "legend" }, swatch("c-compute-1", T("allocated")), swatch("c-compute-5", T("reserved"))), order.length > shown.length ? note(T("more") + ": " + (order.length - shown.length)) : null];
}

// Allocated and reserved over the events of a record, and what happened there.
function drawMemoryCurve(snapshots, of) {
  const points = snapshots.curve.filter((each) => each[0] === of);
  if (points.length < 2) return [note(T("No history was recorded of this rank: only its end is known."))];
  const marks = snapshots.marks.filter((each) => each[0] === of);
  const width = Math.max(700, Math.min(1120, innerWidth - 60)), height = 240, left = 74, right = 14, bottom = 26;
  const last = Math.max(snapshots.ranks[of].events - 1, 1), most = Math.max(...points.map((each) => each[3]), 1);
  const x = (event) => left + (width - left - right) * event / last, y = (n) => 12 + (height - bottom - 12) * (1 - n / most);
  const line = (at, close) => points.map((each, i) => (i ? "L" : "M") + x(each[1]).toFixed(1) + " " + y(each[at]).toFixed(1)).join("") + (close ? `L${x(points[points.length - 1][1]).toFixed(1)} ${y(0)}L${x(points[0][1]).toFixed(1)} ${y(0)}Z` : "");
  const image = sv("svg", { width, height, role: "img", "aria-label": T("Memory over the events of the record") });
  for (const part of [0, .5, 1]) image.append(sv("line", { class: "axis", x1: left, x2: width - right, y1: y(part * most), y2: y(part * most) }), sv("text", { x: left - 8, y: y(part * most) + 4, "text-anchor": "end" }, bytes(Math.round(part * most))));
  image.append(sv("path", { class: "c-compute-5", d: line(3, true) }), sv("path", { class: "c-compute-2", d: line(2, true) }));
  const cls = { "out of memory": "c-wait", "released": "c-memcpy", "peak allocated": "c-compute-0", "peak reserved": "c-transfer", "step": "c-other" };
  for (const [, event, kind, n] of marks) {
    const words = `${T(kind)}, ${T("event")} ${event}: ${bytes(n)}`;
    if (kind === "step") image.append(sv("line", { class: "axis", x1: x(event), x2: x(event), y1: y(most), y2: y(0) }));
    else image.append(sv("rect", { class: "mark " + cls[kind], x: x(event) - 2, y: kind.startsWith("peak") ? y(n) - 4 : y(0) - 14, width: kind.startsWith("peak") ? 8 : 4, height: kind.startsWith("peak") ? 8 : 14, tip: words }));
  }
  image.append(sv("text", { class: "soft", x: left, y: height - 8 }, T("event") + " 0"), sv("text", { class: "soft", x: width - right, y: height - 8, "text-anchor": "end" }, T("event") + " " + last));
  const box = chart("memory-curve", points.length, points);
  box.append(image);
  const kinds = [...new Set(marks.map((each) => each[2]))];
  return [box, el("div", { class: "legend" }, swatch("c-compute-2", T("allocated")), swatch("c-compute-5", T("reserved")), kinds.map((kind) => swatch(cls[kind], T(kind))))];
}

// What fills the peak, by stack: the largest as bars, the rest as one.
function drawMemoryGroups(snapshots, of, colour) {
  const groups = snapshots.groups.filter((each) => each.of === of).sort((a, b) => b.bytes - a.bytes), all = sum(groups.map((each) => each.bytes));
  if (!groups.length) return [];
  const shown = groups.slice(0, 10), rest = groups.slice(10);
  if (rest.length) shown.push({ what: T("more") + ": " + rest.length, bytes: sum(rest.map((each) => each.bytes)), blocks: null });
  const width = Math.max(700, Math.min(1120, innerWidth - 60)), label = 330, row = 22;
  const x = (n) => label + (width - label - 150) * n / Math.max(shown[0].bytes, 1);
  const image = sv("svg", { width, height: row * shown.length + 4, role: "img", "aria-label": T("What fills the peak") });
  shown.forEach((each, i) => image.append(sv("text", { x: label - 8, y: i * row + 15, "text-anchor": "end" }, short(T(each.what ?? "?"), 46), sv("title", {}, T(each.what ?? "?"))),
    sv("rect", { class: "mark " + colour(each.what), x: x(0), y: i * row + 3, width: Math.max(1, x(each.bytes) - x(0)), height: row - 7, "data-bytes": each.bytes, tip: `${T(each.what ?? "?")}: ${bytes(each.bytes)}` + (each.blocks ? `, ${each.blocks} ${T("blocks")}` : "") }),
    sv("text", { x: x(each.bytes) + 6, y: i * row + 15 }, `${bytes(each.bytes)} (${percent(each.bytes, all)})`)));
  const box = chart("memory-groups", shown.length, groups.map((each) => [each.what, each.bytes]));
  box.append(image);
  return [el("h3", {}, T("What fills the peak")), box];
}

// Segments as rows, each cut into its blocks: what is free between others is what cannot be given back.
function drawMemoryMap(snapshots, who, colour) {
  const segments = new Map();
  for (const each of snapshots.blocks) segments.set(each.segment, [...(segments.get(each.segment) || []), each]);
  const size = (blocks) => sum(blocks.map((each) => each.bytes));
  const list = [...segments].sort((a, b) => size(b[1]) - size(a[1]) || a[0] - b[0]);
  if (!list.length) return [];
  const shown = list.slice(0, 80), row = 12, width = Math.max(700, Math.min(1120, innerWidth - 60)), label = 90;
  const most = size(shown[0][1]), x = (n) => label + (width - label - 10) * n / most;
  const image = sv("svg", { width, height: row * shown.length + 4, role: "img", "aria-label": T("Blocks at the peak") });
  let marks = 0;
  shown.forEach(([, blocks], i) => {
    image.append(sv("text", { class: "soft", x: label - 8, y: i * row + 10, "text-anchor": "end" }, bytes(size(blocks))));
    for (const each of blocks) {
      image.append(sv("rect", { class: "mark " + (each.state === "free" ? "c-unknown" : each.state === "pending" ? "c-wait" : colour(each.what)), x: x(each.offset), y: i * row + 1, width: Math.max(.4, x(each.bytes) - x(0) - .4), height: row - 2, tip: `${T(each.state)} ${bytes(each.bytes)}` + (each.what ? `\n${T(each.what)}` : "") }));
      marks++;
    }
  });
  const free = sum(snapshots.blocks.filter((each) => each.state === "free").map((each) => each.bytes));
  const box = chart("memory-map", marks, list.map(([segment, blocks]) => [segment, size(blocks)]));
  box.append(image);
  const rank = snapshots.ranks[snapshots.map_of];
  return [el("h3", {}, `${T("Blocks at the peak")}: ${who(snapshots.map_of)}`),
    note(`${T("Each row is a segment, the largest first.")} ${T("free within reserved")}: ${bytes(free)}` + (rank.stuck_bytes !== null ? `, ${T("stuck in segments in use")}: ${bytes(rank.stuck_bytes)}` : "") + (list.length > shown.length ? `; ${T("more")}: ${list.length - shown.length}` : "")), box,
    el("div", { class: "legend" }, [...colour.known].map(([what, cls]) => swatch(cls, short(T(what), 44))), swatch(colour("?"), T("others")), swatch("c-unknown", T("free")), snapshots.blocks.some((each) => each.state === "pending") ? swatch("c-wait", T("pending")) : null)];
}

function drawSnapshots() {
  const snapshots = data.snapshots;
  if (!snapshots) return [];
  const who = (of) => { const each = snapshots.ranks[of]; return (each.rank === null ? each.file ?? "?" : T("rank") + NBSP + each.rank) + (each.role ? " " + each.role : "") + (snapshots.ranks.filter((other) => other.rank === each.rank && other.role === each.role).length > 1 ? " d" + each.device : ""); };
  const first = snapshots.map_of ?? 0;
  const classes = ["c-compute-0", "c-compute-2", "c-transfer", "c-between", "c-compute-4", "c-dataloader"];
  // The largest stacks of the rank that is shown first have a colour each.
  const known = new Map(snapshots.groups.filter((each) => each.of === first).sort((a, b) => b.bytes - a.bytes).slice(0, classes.length).map((each, i) => [each.what, classes[i]]));
  const colour = Object.assign((what) => known.get(what) ?? "c-compute-8", { known });
  const host = el("div");
  const draw = (of) => {
    const settings = snapshots.whatif.filter((each) => each.of === of).sort((a, b) => a.peak_reserved_bytes - b.peak_reserved_bytes);
    host.replaceChildren(...[drawMemoryCurve(snapshots, of), drawMemoryGroups(snapshots, of, colour),
      settings.length ? [el("h3", {}, T("Other settings of the allocator, foretold")), table([T("settings"), T("peak reserved"), T("saves"), T("error"), T("driver calls")], settings.map((each) => [each.settings, bytes(each.peak_reserved_bytes), each.gain_bytes === null ? T("within the error") : each.gain_bytes < 0 ? "−" + bytes(-each.gain_bytes) : bytes(each.gain_bytes), bytes(each.error_bytes), each.driver_calls]), [1, 2, 3, 4])] : []].flat());
  };
  const withCurves = snapshots.ranks.map((each, of) => of).filter((of) => snapshots.curve.some((point) => point[0] === of));
  const pick = choice(T("rank"), (withCurves.length ? withCurves : [first]).map((of) => [String(of), who(of)]), (value) => draw(+value));
  pick.querySelector("select").value = String(first);
  pick.querySelector("select").id = "memory-rank";
  const sentences = [
    ...snapshots.ranks.map((each, of) => each.ooms > 0 ? `${who(of)}: ${T("out of memory")}` + (each.out_of_memory ? `, ${each.out_of_memory}` : "") + (each.wanted_bytes !== null ? `: ${bytes(each.wanted_bytes)}` : "") : null),
    ...snapshots.leaks.map((each) => `${who(each.of)}: ${T(each.what ?? "?")} ${T("leaves each time, never freed")}: ${bytes(each.bytes_each_time)} × ${each.times}`)].filter(Boolean).slice(0, 8);
  draw(first);
  return [sentences.map((text) => el("p", {}, text)), drawMemoryRanks(snapshots, who), el("div", { class: "controls" }, pick), host, drawMemoryMap(snapshots, who, colour)].flat(2);
}

function drawMemory() {
  if (!data.memory.length && !data.snapshots) return;
  const rows = [...data.memory].sort((a, b) => (b.peak_bytes ?? b.reserved_bytes ?? 0) - (a.peak_bytes ?? a.reserved_bytes ?? 0)).slice(0, 200);
  section("memory", T("Memory"), drawSnapshots(), !rows.length ? null : table([T("rank"), T("component"), T("peak"), T("reserved"), T("growth per step")], rows.map((each) => [each.rank, each.component, bytes(each.peak_bytes), bytes(each.reserved_bytes), bytes(each.growth_bytes_per_step)]), [2, 3, 4]));
}

// The slowest clocks first; the rated one as a line.
function drawFrequency() {
  const means = data.cells.frequency_mhz.map((row, lane) => { const known = row.filter((value) => value !== null); return known.length ? { lane, mhz: mean(known), least: Math.min(...known) } : null; }).filter(Boolean);
  if (!means.length) return;
  means.sort((a, b) => a.mhz - b.mhz || a.lane - b.lane);
  const shown = means.slice(0, 16), row = 20, width = 760, label = 110;
  const rated = Math.max(...lanes.rated_mhz.map((mhz) => mhz ?? 0));
  const most = Math.max(rated, ...means.map((each) => each.mhz), 1);
  const x = (mhz) => label + (width - label - 190) * mhz / most;
  const image = sv("svg", { width, height: row * shown.length + 8, role: "img", "aria-label": T("Frequency") });
  shown.forEach((each, i) => image.append(sv("text", { x: label - 8, y: i * row + 14, "text-anchor": "end" }, laneName(each.lane)),
    clickable(sv("rect", { class: "mark c-compute-3", x: x(0), y: i * row + 2, width: x(each.mhz) - x(0), height: row - 5, "data-mhz": each.mhz }), () => showLane(each.lane)),
    sv("text", { x: x(most) + 8, y: i * row + 14 }, `${Math.round(each.mhz)} MHz` + (each.least < each.mhz - 1 ? `, ${T("lowest step")} ${Math.round(each.least)}` : ""))));
  if (rated > 0) image.append(sv("line", { class: "ideal", x1: x(rated), x2: x(rated), y1: 0, y2: row * shown.length + 4 }));
  const box = chart("frequency", shown.length, means);
  box.append(image);
  const below = rated > 0 ? means.filter((each) => each.mhz < .98 * rated).length : 0;
  section("frequency", T("Frequency"), note((rated > 0 ? `${T("rated")} ${rated} MHz; ${below} ${T("of")} ${means.length} ${T("ranks more than 2 % below it")}. ` : "") + T("Mean clock of the AI cores while steps run, slowest ranks first.")), box, means.length > shown.length ? note(T("more") + ": " + (means.length - shown.length)) : null);
}

// The step of earlier runs, and the levels between which it changed.
function drawHistory() {
  const history = data.history;
  if (!history || history.series.length < 2) return;
  const width = 760, height = 180, left = 70, bottom = 24, values = history.series.map((each) => each.ns);
  const least = Math.min(...values), most = Math.max(...values), spread = Math.max(most - least, most / 1000, 1);
  const x = (i) => left + (width - left - 20) * i / Math.max(1, values.length - 1);
  const y = (ns) => 10 + (height - bottom - 20) * (1 - (ns - least) / spread);
  const image = sv("svg", { width, height, role: "img", "aria-label": T("History") });
  const day = (each) => new Date(each.captured_ns / 1e6).toISOString().slice(0, 10);
  const words = (each) => `${T("run")} ${each.run}, ${day(each)}: ${time(each.ns)}` + Object.entries(each.labels || {}).map(([name, value]) => `; ${name}=${value}`).join("");
  image.append(sv("text", { x: left - 8, y: y(most) + 4, "text-anchor": "end" }, time(most)), sv("text", { x: left - 8, y: y(least) + 4, "text-anchor": "end" }, time(least)),
    sv("text", { x: left, y: height - 6 }, day(history.series[0])), sv("text", { x: width - 20, y: height - 6, "text-anchor": "end" }, day(history.series[values.length - 1])));
  const place = (run) => history.series.findIndex((each) => each.run === run);
  const steps = history.changes.filter((change) => change.kind !== "gradual");
  const starts = [0, ...steps.map((change) => place(change.run))];
  const bounds = [0, ...history.changes.flatMap((change) => [place(change.run), place(change.until_run)]), values.length - 1];
  const level = (x1, x2, y1, y2) => image.append(sv("line", { class: "ideal", x1: x(x1), x2: x(x2), y1: y(y1), y2: y(y2) }));
  history.changes.forEach((change, i) => {
    level(bounds[2 * i], bounds[2 * i + 1], change.before_ns, change.before_ns);
    if (change.kind === "gradual") level(bounds[2 * i + 1], bounds[2 * i + 2], change.before_ns, change.after_ns);
    if (i + 1 === history.changes.length) level(bounds[2 * i + 2], bounds[2 * i + 3], change.after_ns, change.after_ns);
  });
  history.series.forEach((each, i) => image.append(clickable(sv("circle", { class: "mark c-compute-3", cx: x(i), cy: y(each.ns), r: starts.includes(i) && i > 0 ? 6 : 3, "data-ns": each.ns }, sv("title", {}, words(each))), () => showCard(T("History"), note(words(each))))));
  const box = chart("history", values.length, history.series);
  box.append(image);
  section("history", T("History"), note(history.changes.length
    ? history.changes.map((change) => `${T("run")} ${change.run}${change.kind === "gradual" ? "–" + change.until_run : ""} (${day(change)}): ${time(change.before_ns)} → ${time(change.after_ns)}, ${change.ratio > 1 ? "+" : "−"}${figures(100 * Math.abs(change.ratio - 1))}${NBSP}%`).join("; ") + "."
    : T("The step did not change over these runs.")), box);
}

// When each phase was at work on each NPU, and how much of it others used.
function drawPhases() {
  if (!whole.phases) return;
  const verdicts = table([T("phase"), T("ranks profiled"), T("step time"), T("Verdict")], whole.phases.map((each) => {
    const known = each.cells.step_ns.flat().filter((value) => value !== null);
    return [each.phase ?? "?", each.input.ranks_used, known.length ? time(Math.round(mean(known))) : "?", S(each.verdict.text, each)];
  }), [1, 2]);
  const rows = (whole.phase_ranks || []).slice(0, 256);
  for (const each of whole.phases_failed || []) verdicts.querySelector("tbody").append(el("tr", {}, el("td", {}, each.phase), el("td", { class: "n" }, "0"), el("td", { class: "n" }, "?"), el("td", {}, each.reason)));
  section("phases", T("Phases"), verdicts, rows.length ? [el("h3", {}, T("Time on the device, idle within, and shared with other phases on the same NPU")),
    table([T("phase"), T("rank"), T("device"), T("time"), T("idle"), T("with other phases")], rows.map((each) => [each.phase, each.rank, each.device ?? "?", time(each.time_ns), time(each.idle_ns), time(each.overlap_ns)]), [1, 2, 3, 4, 5])] : null);
  charts.phases = { marks: whole.phases.length, values: whole.phases.map((each) => each.phase) };
}

function drawExperts() {
  if (!data.experts.length) return;
  const ranks = new Map();
  for (const each of data.experts) { const own = ranks.get(each.rank) || [0, null]; own[0] += each.tokens ?? 0; if (each.lost_ns !== null) own[1] = (own[1] ?? 0) + each.lost_ns; ranks.set(each.rank, own); }
  const rows = [...ranks].sort((a, b) => b[1][0] - a[1][0]);
  const most = Math.max(...rows.map((each) => each[1][0]), 1);
  const shown = rows.slice(0, 64), row = 20, width = 760;
  const image = sv("svg", { width, height: row * shown.length + 4, role: "img", "aria-label": T("Experts") });
  shown.forEach(([rank, [tokens, lost]], i) => image.append(sv("text", { x: 82, y: i * row + 14, "text-anchor": "end" }, T("rank") + NBSP + rank), sv("rect", { class: "mark c-compute-3", x: 90, y: i * row + 2, width: Math.max(1, (width - 330) * tokens / most), height: row - 5 }), sv("text", { x: 96 + (width - 330) * tokens / most, y: i * row + 14 }, `${tokens.toLocaleString("en-US")} · ${T("lost")} ${time(lost)}`)));
  const box = chart("experts", shown.length, rows);
  box.append(image);
  section("experts", T("Experts"), note(T("Tokens that the experts of each rank got in all steps, and what the rank lost by waiting for those with more.")), box, rows.length > shown.length ? note(T("more") + ": " + (rows.length - shown.length)) : null);
}

function drawTrust() {
  const trust = data.trust, clock = trust.clock;
  const lists = [];
  if (data.input.skipped.length) lists.push(el("h3", {}, T("Not used")), table([T("file"), T("what"), T("reason")], data.input.skipped.map((each) => [short(each.path ?? "", 60), each.what, S(each.reason)])));
  if (trust.coverage.length) lists.push(el("h3", {}, T("coverage")), table([T("rank"), T("file"), "", T("share")], trust.coverage.map((each) => [each.rank, each.file, each.against, percent(each.share, 1)])));
  if (trust.withheld.length) lists.push(el("h3", {}, T("Withheld")), table([T("what"), T("reason"), T("switch")], trust.withheld.map((each) => [T(each.what), S(each.reason), S(each.switch ?? "")])));
  if (data.input.warnings && data.input.warnings.length) lists.push(el("details", {}, el("summary", {}, T("Notes") + ": " + data.input.warnings.length), table([T("file"), T("what"), T("reason")], data.input.warnings.slice(0, 200).map((each) => [short(each.path ?? "", 60), each.what, S(each.reason)]))));
  section("trust", T("Trust"),
    el("p", {}, `${T("Matched operators")}: ${trust.ops_matched} ${T("of")} ${trust.ops_total}. ${T("Clocks of the ranks")}: ${T("by " + clock.method)}` + (clock.method === "none" ? "" : `; ${T("error")} ${time(clock.residual_p50_ns)} (p50), ${time(clock.residual_p90_ns)} (p90)`) + (clock.violations ? `; ${clock.violations} ${T("operators end before their last rank came, by at most")} ${time(clock.violation_max_ns)}` : "") + "."), lists,
    el("p", { class: "soft" }, T("Everything here comes from the profiles of this run; unknown is shown as ?, never as 0.") + " npuprof " + data.version));
}

function drawGlossary() {
  section("glossary", T("Glossary"), el("dl", {}, glossary.map(([word, english, chinese]) => [el("dt", {}, T(word)), el("dd", {}, zh ? chinese : english)])));
}

// Everything about one run, or one phase of a job.
charts = {};
$("card").hidden = true;
for (const id of ["head", "contents", "main"]) $(id).replaceChildren();
drawHead();
const sections = { difference: drawDifference, findings: drawFindings };
const first = sections[data.first];
if (first) first();
drawNext();
if (first !== drawDifference) drawDifference();
drawPartition();
drawHeatMap();
drawWaiting();
drawLinks();
drawPipeline();
drawRepairs();
if (first !== drawFindings) drawFindings();
drawMemory();
drawFrequency();
drawHistory();
drawExperts();
drawPhases();
drawTrust();
drawGlossary();
window.npuprofCharts = charts;
}

drawRun((whole.phases || [whole])[0]);
performance.mark("drawn");
document.documentElement.setAttribute("data-drawn", Math.round(performance.now()));
})();
