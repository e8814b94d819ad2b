"use strict";
// Shows what a lease server says, and asks no other. What others have written is set as text, never as markup.

const PAGE = 100; // leases
const SEARCHED = 1_000; // leases of one answer, where most are left out
const MOST_ANSWERS = 20; // that one look for those of a state takes
const EVENTS = 1_000; // all that the server remembers
const MOST_WAITING = 100;
const EVERY_MS = 2_000; // leases and events are asked for again
const WHOLE_MS = 5_000; // and how the server is
const PATIENCE_MS = 10_000;
const LONGEST_PAUSE_MS = 30_000;
const SHORT = 24; // characters that stay on one line
const LONG = 32; // of a holder; the whole is in a tooltip
const KNOWN = 50; // answers that the server need not send again
const TOKEN = "cinch.token";

const $ = (id) => document.getElementById(id);
const pause = (failures) => Math.min(LONGEST_PAUSE_MS, 500 * 2 ** failures) * (0.5 + Math.random() / 2);
const query = (pairs) => pairs.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join("&");

let token = sessionStorage.getItem(TOKEN) ?? "";
let ahead = 0; // the server's clock less this one's, ms
let place = { prefix: "", state: "", after: "", lease: "" }; // what is shown, as the address has it
let sort = { column: 0, down: false };
let leases = []; // that are shown
let pageBefore = new Map(); // by the name after which a page begins, where the one before it does
let events = [];
let self; // the number of the server's instance

// --- Asking ---

const known = new Map(); // by path, the last answer that has a tag, and the tag
let heardAt = -Infinity;

async function ask(path) {
  const before = known.get(path);
  const response = await fetch(path, {
    headers: { ...(token ? { Authorization: `Bearer ${token}` } : {}), ...(before ? { "If-None-Match": before.tag } : {}) },
    cache: "no-store",
    signal: AbortSignal.timeout(PATIENCE_MS),
  });
  heardAt = performance.now();
  known.delete(path);
  if (response.status === 304) {
    known.set(path, before);
    return before.body;
  }
  const body = await response.json();
  if (!response.ok) {
    throw Object.assign(new Error(body.message), { status: response.status });
  }
  const tag = response.headers.get("ETag");
  if (tag) {
    known.set(path, { tag, body });
    if (known.size > KNOWN) {
      known.delete(known.keys().next().value);
    }
  }
  return body;
}

/** The answer, or undefined where there is none: no such path, no right, nothing known. */
async function askIfAny(path) {
  try {
    return await ask(path);
  } catch (e) {
    if (e.status === 403 || e.status === 404) {
      return undefined;
    }
    throw e;
  }
}

// --- Text ---

/** Nothing hides: what has no shape of its own, or turns the direction of text, is shown by its number. */
function plain(text) {
  return String(text).replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (c) => `\\u${c.codePointAt(0).toString(16).padStart(4, "0")}`);
}

function span(ms) {
  const units = [[1_000, 1, "ms"], [120_000, 1_000, "s"], [7_200_000, 60_000, "min"], [172_800_000, 3_600_000, "h"]];
  const [, size, unit] = units.find(([below]) => ms < below) ?? [0, 86_400_000, "d"];
  return `${Math.floor(ms / size)} ${unit}`;
}

const now = () => Date.now() + ahead;
const count = (n) => n.toLocaleString("en");

function bytes(n) {
  const unit = n < 1024 ? 0 : Math.min(5, Math.floor(Math.log2(n) / 10));
  return unit === 0 ? `${n} bytes` : `${(n / 1024 ** unit).toFixed(1)} ${["KiB", "MiB", "GiB", "TiB", "PiB"][unit - 1]}`;
}

/** A time of the API, in UTC, and how long ago or ahead that is. */
function moment(iso) {
  const at = iso ? Date.parse(`${iso.slice(0, 23)}Z`) : NaN;
  if (Number.isNaN(at)) {
    return iso ?? "";
  }
  const today = iso.slice(0, 10) === new Date(now()).toISOString().slice(0, 10);
  const text = today ? `${iso.slice(11, 19)}Z` : `${iso.slice(0, 10)} ${iso.slice(11, 16)}Z`;
  const left = at - now();
  return { text, at: iso, note: left > 0 ? `in ${span(left)}` : left > -1_000 ? "just now" : `${span(-left)} ago` };
}

// --- Tables ---

function part(name, text, kind) {
  const element = document.createElement(name);
  element.textContent = plain(text);
  if (kind) {
    element.className = kind;
  }
  return element;
}

/** Shows a cell: text, or { text, at, note, tag, lease, number, cut }. What is shown already stays, and the focus in it. */
function show(td, cell) {
  const wanted = JSON.stringify(cell);
  if (td.shown === wanted) {
    return;
  }
  td.shown = wanted;
  const { text, at, note, tag, lease, number, cut } = typeof cell === "object" ? cell : { text: cell };
  const main = part(lease ? "button" : at ? "time" : "span", text, lease ? "link" : tag && `tag ${tag}`);
  if (lease) {
    main.type = "button";
    main.addEventListener("click", () => go({ lease }));
  } else if (at) {
    main.dateTime = at;
  }
  main.classList.toggle("short", main.textContent.length <= SHORT);
  if (cut && main.textContent.length > LONG) {
    main.classList.add("cut");
    main.title = main.textContent;
  }
  td.className = number ? "number" : at ? "when" : "";
  td.classList.toggle("empty", main.textContent === "" && !note); // takes no room where there is little
  td.replaceChildren(...(note ? [main, " ", part("span", note, "note")] : [main]));
}

/** Has a table show rows, each of a key and cells, the first of which names it. */
function fill(id, rows) {
  const body = $(id);
  const heads = [...(body.parentElement.tHead?.rows[0].cells ?? [])].map((th) => th.textContent);
  const keys = new Set(rows.map(([key]) => key));
  const there = new Map();
  for (const tr of [...body.rows]) {
    if (keys.has(tr.key)) {
      there.set(tr.key, tr);
    } else {
      tr.remove();
    }
  }
  rows.forEach(([key, ...cells], i) => {
    const tr = there.get(key) ?? Object.assign(document.createElement("tr"), { key });
    cells.forEach((cell, c) => {
      if (!tr.cells[c]) {
        tr.append(Object.assign(document.createElement(c === 0 ? "th" : "td"), c === 0 ? { scope: "row" } : {}));
        tr.cells[c].dataset.head = heads[c] ?? "";
      }
      show(tr.cells[c], cell);
    });
    if (body.rows[i] !== tr) {
      body.insertBefore(tr, body.rows[i] ?? null);
    }
  });
}

function say(id, text) {
  if ($(id).textContent !== text) { // a screen reader reads what was set
    $(id).textContent = text;
  }
}

// --- Leases ---

const KINDS = {
  HELD: "good", TENTATIVE: "warn", REVOKED: "bad", RELEASED: "off", EXPIRED: "off",
  granted: "good", resumed: "good", upgraded: "good", revoked: "bad", refused: "warn", expired: "warn", released: "off",
};

const BAD = ["revoked", "refused", "expired"];
const tagged = (word, note) => ({ text: word.toLowerCase(), tag: KINDS[word] ?? "off", note });

function state({ state, witness }) {
  const revoked = state === "REVOKED" && events.find((e) => e.event === "revoked" && e.correlation === witness.correlation);
  return tagged(state, revoked ? revoked.reason : "");
}

function waiting({ waiting = [], waitingCount = waiting.length }) {
  if (waitingCount === 0) {
    return "";
  }
  const first = waiting.slice(0, 3).map((w) => w.holder);
  const more = waitingCount - first.length;
  return { text: first.join(", ") + (more > 0 ? ` and ${count(more)} more` : ""), note: moment(waiting[0]?.since).note, cut: true };
}

/** By what a column is sorted; names are in order already. */
const ORDERS = [(l) => l.witness.name, (l) => l.state, (l) => l.witness.holder, (l) => l.since, (l) => l.witness.expiry, (l) => l.waitingCount ?? 0];

function fillLeases() {
  const of = ORDERS[sort.column];
  const direction = sort.down ? -1 : 1;
  const rows = [...leases].sort((a, b) => direction * (of(a) < of(b) ? -1 : of(a) > of(b) ? 1 : 0));
  fill("leases", rows.map((l) => {
    const { name, holder, expiry } = l.witness;
    return [name, { text: name, lease: name }, state(l), { text: holder, cut: true }, moment(l.since), l.state === "RELEASED" ? "" : moment(expiry), waiting(l)];
  }));
  document.querySelectorAll("[data-column]").forEach((button) => {
    const isOurs = Number(button.dataset.column) === sort.column;
    button.parentElement.ariaSort = isOurs ? (sort.down ? "descending" : "ascending") : "none";
  });
}

async function showLeases() {
  const here = place;
  const found = [];
  let more = true;
  let after = here.after;
  for (let answers = 0; more && found.length <= PAGE && answers < (here.state ? MOST_ANSWERS : Infinity); answers++) {
    const limit = here.state ? SEARCHED : PAGE + 1 - found.length;
    const page = (await ask(`v1/leases?${query([["detail", "true"], ["limit", limit], ["prefix", here.prefix], ["after", after]])}`)).leases;
    found.push(...page.filter((l) => !here.state || l.state === here.state));
    // A page of about 1 MiB is short; any other short one is the last.
    more = page.length > 0 && (page.length === limit || JSON.stringify(page).length > 500_000);
    after = page.at(-1)?.witness.name;
  }
  if (here !== place) {
    return;
  }
  const rest = found.length > PAGE;
  leases = found.slice(0, PAGE);
  const isLast = !rest && !more;
  fillLeases();
  const from = here.after ? `, after ${plain(here.after)}` : "";
  say("shown", (leases.length === 0 ? "none" : `${leases.length} shown`) + from + (isLast ? "" : rest ? ", more follow" : `, looked up to ${plain(after)}`));
  $("back").disabled = !here.after;
  $("next").disabled = isLast;
  $("next").last = rest ? leases.at(-1).witness.name : after;
}

async function showDetails() {
  const name = place.lease;
  if (!name) {
    return;
  }
  const lease = await askIfAny(`v1/leases/${encodeURIComponent(name)}?detail=true`);
  if (name !== place.lease) {
    return;
  }
  const facts = [];
  if (lease) {
    const w = lease.witness;
    facts.push(["State", state(lease)], ["Holder", w.holder], ["Since", moment(lease.since)], ["Until", moment(w.expiry)], ["Last renewed", moment(w.issuedAt)]);
    facts.push(["Grant", { text: w.correlation, note: `generation ${w.generation} of instance ${w.instance}${w.resumed ? ", resumed" : ""}` }]);
    facts.push(["May write to", w.logs === "all" ? "all logs" : { text: w.logs.slice(0, 10).join(", ") || "no log", note: w.logs.length > 10 ? `of ${count(w.logs.length)}` : "" }]);
    facts.push(["The lease before", { ...tagged(w.previousEnding), note: w.previousEndedAt ? `${moment(w.previousEndedAt).text}, grant ${w.previous}` : w.previous }]);
    if (w.watermark) {
      facts.push(["Wrote up to", moment(w.watermark.timestamp)]);
    }
    if (w.fence) {
      facts.push(["Fenced up to", moment(w.fence.upTo)]);
    }
  } else {
    facts.push(["State", "nothing is known of it"]);
  }
  fill("facts", facts.filter(([, value]) => value !== "").map(([what, value]) => [what, what, value]));
  const queue = (lease?.waiting ?? []).slice(0, MOST_WAITING).map((w, i) => [i, count(i + 1), w.holder, moment(w.since)]);
  const rest = (lease?.waitingCount ?? 0) - queue.length;
  fill("waiting", queue.length === 0 ? [["none", "nobody"]] : rest > 0 ? [...queue, ["rest", "", `and ${count(rest)} more`, ""]] : queue);
  const rows = eventRows(events.filter((e) => e.name === name).slice(0, PAGE)).map(([key, , ...cells]) => [key, ...cells]);
  fill("history", rows.length === 0 ? [["none", "nothing is remembered"]] : rows);
}

// --- What else the server says ---

function eventRows(events) {
  const seen = new Map();
  return events.map((e) => {
    const same = [e.at, e.event, e.name, e.correlation].join(" ");
    seen.set(same, (seen.get(same) ?? 0) + 1);
    const by = { text: e.by ?? "", note: e.from ? String(e.from) : "" };
    return [`${same} ${seen.get(same)}`, { text: e.name ?? "", lease: e.name }, tagged(e.event), { text: e.holder ?? "", cut: true }, moment(e.at), by, e.reason ?? ""];
  });
}

async function showEvents() {
  const answer = await askIfAny(`v1/lately?limit=${EVENTS}`);
  events = answer?.events ?? [];
  $("totals").hidden = answer?.lost === undefined;
  fill("sums", answer?.lost === undefined ? [] : [["sums", ...(answer.held === undefined ? [""] : [count(answer.held)]), count(answer.waiting), count(answer.lost)]]);
  $("events").hidden = !answer;
  const some = events.filter((e) => (e.name ?? "").startsWith(place.prefix) && (!$("bad").checked || BAD.includes(e.event)));
  fill("lately", eventRows(some.slice(0, PAGE)));
}

async function obstacle() {
  try {
    await ask("readyz");
    return "";
  } catch (e) {
    if (e.status === 503) {
      return e.message;
    }
    throw e;
  }
}

let isCell = true; // until it is known

async function showServer() {
  const [health, why] = await Promise.all([ask("healthz"), obstacle()]);
  const problems = why ? [why] : [];
  const words = [];
  self = health.instance;
  standing.why = why;
  if (health.instance !== undefined) { // else it starts, and tells nothing of itself yet
    const [service, shards] = await Promise.all([ask("v1/service"), askIfAny("v1/shards")]);
    ahead = Date.parse(`${service.now.slice(0, 23)}Z`) - Date.now();
    problems.push(...(service.timeProblems ?? []).map((p) => `time sources: ${p}`));
    words.push(`instance ${health.instance}`, `leases of up to ${span(service.longestLeaseMs)}`);
    const shard = shards?.servers.find((s) => s.instance === health.instance);
    if (shards?.shards > 1 && shard) {
      words.push(`shard ${shard.shard} of ${shards.shards}`);
    }
  }
  words.push(health.store ? `store ${health.store}` : "no store");
  say("server", words.join(" · "));
  const [ofStore, ofCell] = await Promise.all([
    health.store ? section("store", "v1/store", displayStore) : [],
    isCell ? section("cell", "v1/cell", displayCell) : [],
  ]);
  problems.push(...ofStore, ...ofCell);
  isCell = !$("cell").hidden || ofCell.length > 0; // one that starts is asked again
  $("attention").hidden = problems.length === 0;
  const lines = problems.map(plain);
  if ($("problems").shown !== lines.join("\n")) {
    $("problems").shown = lines.join("\n");
    $("problems").replaceChildren(...lines.map((line) => part("li", line)));
  }
}

/** Asks for what a section shows, and returns what of that needs attention. What the server can't tell is a part of it. */
async function section(id, path, display) {
  try {
    const told = await askIfAny(path);
    $(id).hidden = !told;
    return told ? display(told) : [];
  } catch (e) {
    if (!e.status) {
      throw e;
    }
    return [`${id}: ${e.message}`];
  }
}

function displayStore(status) {
  const offset = status.clockOffsetMs;
  const clock = offset === undefined ? "" : offset === 0 ? "The server's clock is the storage's. " : `The server's clock is ${span(Math.abs(offset))} ${offset > 0 ? "ahead of" : "behind"} the storage's. `;
  say("store-state", `${clock}As of ${span(status.ageMs)} ago.`.replace("As of 0 ms ago.", "As of now."));
  fill("logs", status.logs.map((l) => {
    if (!l.readable) {
      return [l.log, l.log, { text: "unreadable", tag: "bad" }, "", "", "", "", ""];
    }
    const lag = l.idle ? { text: "idle", tag: "off" } : l.lagMs === undefined ? "" : span(l.lagMs);
    const newest = l.newest ? { ...moment(l.newest), ...(l.newestSettled ? {} : { note: "not settled" }) } : "";
    const number = (n) => ({ text: count(n), number: true });
    return [l.log, l.log, l.settledThrough ? moment(l.settledThrough) : "nothing", lag, number(l.openBuckets), number(l.messages), { text: bytes(l.bytes), number: true }, newest];
  }));
  return status.attention.filter((a) => !isOwn(a, status)).map((a) => (a.log ? `${a.log}: ` : "") + a.message);
}

/** Whether it is this server that the report looked at: what it says of itself is told already. */
function isOwn(attention, status) {
  const servers = [status.server, ...(status.shards?.servers ?? [])].filter((s) => s && self !== undefined && s.instance === self);
  const clock = "this machine's clock is ";
  return attention.message.startsWith(clock) && standing.why.includes(clock) || servers.some((s) => {
    const shard = s.shard ? `shard ${s.shard}/${status.shards.shards}: ` : "";
    const refusal = s.state === "NOT_GRANTING" && `${shard}the lease server at ${s.address}: `;
    return [refusal, `${shard}the lease server's time sources: `].some((about) => about && attention.message.startsWith(about));
  });
}

function displayCell(cell) {
  const nodes = cell.peers.length + 1;
  const isCut = cell.answering !== undefined && cell.answering <= nodes / 2;
  say("cell-state", `${cell.algorithm}, ${nodes} nodes, ${cell.answering ?? "?"} of them answer node ${cell.node}, which is this one. It holds ${count(cell.names)} names.`);
  const own = cell.quarantined ? { text: "quarantined", tag: "warn", note: `until ${moment(cell.quarantinedUntil).text}` } : { text: "votes", tag: "good" };
  const rows = [[cell.node, `${cell.node}, this one`, own, "", { text: count(cell.boot), number: true }, ""]];
  for (const peer of cell.peers) {
    const heard = peer.heardAgoMs;
    const offset = peer.clockAheadMs;
    const reached = heard === undefined ? { text: "never heard", tag: "bad" } : heard > 3_000 ? { text: "silent", tag: "bad" } : { text: "answers", tag: "good" };
    const clock = offset === undefined ? "" : offset === 0 ? "the same" : `${span(Math.abs(offset))} ${offset > 0 ? "ahead" : "behind"}`;
    rows.push([peer.node, String(peer.node), reached, heard === undefined ? "" : `${span(heard)} ago`, { text: peer.boot === undefined ? "" : count(peer.boot), number: true }, clock]);
  }
  fill("nodes", rows.sort((a, b) => a[0] - b[0]));
  return isCut ? [`node ${cell.node} is cut off: ${cell.answering} of ${nodes} nodes answer`] : [];
}

// --- Again and again ---

const standing = { why: "", lost: "" };

function stand() {
  const [text, kind] = standing.lost ? [standing.lost, "bad"] : standing.why ? ["grants nothing now", "warn"] : ["grants", "good"];
  say("state", text);
  $("state").className = `tag ${kind}`;
  document.body.classList.toggle("stale", Boolean(standing.lost));
}

/** When the server answered last: what is shown is no newer. */
function tellHeard() {
  const ago = performance.now() - heardAt;
  $("heard").textContent = ago === Infinity ? "" : `heard ${ago < 1_000 ? "just now" : `${span(ago)} ago`}`;
}

setInterval(tellHeard, 1_000);

const rounds = { timer: 0, at: Infinity, busy: false, missed: false, failures: 0, wholeAt: -Infinity };

/** Has all be shown anew after a while, unless it is to be sooner. */
function again(ms) {
  const at = performance.now() + ms;
  if (!document.hidden && at < rounds.at) {
    clearTimeout(rounds.timer);
    rounds.at = at;
    rounds.timer = setTimeout(round, ms);
  }
}

/** Has it be shown anew at once, as somebody asked for. */
function atOnce() {
  rounds.wholeAt = -Infinity;
  again(0);
}

async function round() {
  rounds.at = Infinity;
  if (rounds.busy) {
    rounds.missed = true; // one at a time
    return;
  }
  rounds.busy = true;
  rounds.missed = false;
  const here = place;
  const whole = performance.now() - rounds.wholeAt >= WHOLE_MS;
  rounds.wholeAt = whole ? performance.now() : rounds.wholeAt;
  const outcomes = await Promise.allSettled([showLeases(), showEvents().then(showDetails), ...(whole ? [showServer()] : [])]);
  const failure = outcomes.find((o) => o.status === "rejected")?.reason;
  rounds.busy = false;
  rounds.failures = failure ? rounds.failures + 1 : 0;
  const isStranger = failure?.status === 403;
  refused(isStranger ? failure.message : "");
  $("controls").disabled = isStranger || (failure && $("controls").disabled); // until the first answer
  standing.lost = !failure ? "" : isStranger ? "needs a token" : failure.status ? failure.message : "does not answer";
  stand();
  tellHeard();
  again(here !== place || rounds.missed ? 0 : failure ? pause(rounds.failures) : EVERY_MS);
}

function refused(message) {
  const begins = message && $("ask").hidden;
  $("ask").hidden = !message;
  say("refusal", plain(message));
  if (begins && document.activeElement === document.body) {
    $("token").focus();
  }
}

// --- What people do ---

/** Goes to another view; the address has it, so that it can be kept and sent. */
function go(change, replaces) {
  const next = { ...place, ...change };
  const hash = `#${query(Object.entries(next).filter(([, value]) => value))}`;
  if (replaces) {
    history.replaceState(null, "", hash);
    arrive();
  } else {
    location.hash = hash;
  }
}

function arrive() {
  const given = new Map(location.hash.slice(1).split("&").map((p) => p.split("=")).filter(([, v]) => v));
  const value = (name) => {
    try {
      return decodeURIComponent(given.get(name) ?? "");
    } catch {
      return "";
    }
  };
  const before = place;
  place = { prefix: value("prefix"), state: value("state"), after: value("after"), lease: value("lease") };
  if (place.prefix !== before.prefix || place.state !== before.state) {
    pageBefore = new Map();
  }
  $("only").value = place.state;
  if ($("prefix").value !== place.prefix) {
    $("prefix").value = place.prefix;
  }
  if (place.lease !== before.lease) {
    ["facts", "waiting", "history"].forEach((id) => fill(id, []));
    say("details-title", plain(place.lease));
    if (place.lease && !$("details").open) {
      $("details").showModal();
    } else if (!place.lease) {
      $("details").close();
    }
  }
  atOnce();
}

let typing;
$("prefix").addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(() => go({ prefix: $("prefix").value, after: "" }, true), 300);
});
$("filter").addEventListener("submit", (e) => {
  e.preventDefault();
  clearTimeout(typing);
  go({ prefix: $("prefix").value, after: "" }, true);
});
$("next").addEventListener("click", () => {
  const after = $("next").last;
  pageBefore.set(after, place.after);
  go({ after });
});
$("back").addEventListener("click", () => go({ after: pageBefore.get(place.after) ?? "" }));
$("only").addEventListener("change", () => go({ state: $("only").value, after: "" }));
document.querySelectorAll("[data-column]").forEach((button) =>
  button.addEventListener("click", () => {
    const column = Number(button.dataset.column);
    sort = { column, down: column === sort.column && !sort.down };
    fillLeases();
  }));
$("details").addEventListener("close", () => place.lease && go({ lease: "" }));
$("bad").addEventListener("change", atOnce);
$("ask").addEventListener("submit", (e) => {
  e.preventDefault();
  use($("token").value.replace(/[^\x21-\x7e]/g, "")); // a header takes no others, and no token has any
});
$("forget").addEventListener("click", () => use(""));
window.addEventListener("hashchange", arrive);
document.addEventListener("visibilitychange", () => {
  if (document.hidden) { // a tab that nobody looks at asks for nothing
    clearTimeout(rounds.timer);
    rounds.at = Infinity;
  } else {
    atOnce();
  }
});

function use(given) {
  token = given;
  $("token").value = "";
  $("forget").hidden = !token;
  if (token) {
    sessionStorage.setItem(TOKEN, token);
  } else {
    sessionStorage.removeItem(TOKEN);
    ["leases", "lately", "logs", "facts", "waiting", "history", "sums"].forEach((id) => fill(id, []));
  }
  known.clear();
  rounds.failures = 0;
  atOnce();
}

$("forget").hidden = !token;
arrive();
