// What the page shows of sessions, plans and events, as plain values: nothing here touches
// the document. Agents' text passes through as text, and is put into the page as text.

// labels are the names of the actions that are buttons of a session.
const labels = { "restart-session": "Restart session", start: "Start", restart: "Restart", pause: "Pause", resume: "Resume", stop: "Stop" };

// verbs returns the buttons of a session. Starting one that a budget holds lets its budgets start over.
export const verbs = (s) => s.actions.filter((name) => labels[name]).map((name) => {
  const over = name === "start" && s.over_budget;
  return { name, over, label: over ? "Start anyway…" : labels[name] };
});

// restarts returns the action that starts the agent of a session again.
export const restarts = (s) => s.actions.find((name) => ["restart-session", "start", "restart"].includes(name));

export const asks = (s) => s.activity === "blocked" || s.activity === "blocked_api";

// held says which budget holds a session, and until when.
export function held(s, now) {
  const o = s.over_budget;
  if (!o) return "";
  const until = o.until ? `until ${day(o.until, now)}, in ${span(Date.parse(o.until) - now)}` : "until its budget is larger or starts over: its period has no end";
  return `${o.desired} by the budget ${o.budget}: ${o.detail}; ${until}`;
}

// again says what a session may spend that is started although a budget holds it.
export function again(s, now) {
  const o = s.over_budget;
  const until = o.until ? ` until ${day(o.until, now)}` : "";
  return `The budget ${o.budget} is used up: ${o.detail}. All budgets of ${s.name} start over, so that it may spend as much again${until}. This is recorded with your name.`;
}

// day is a time with its date, if that is not today's.
function day(time, now) {
  const at = new Date(time);
  const date = at.toDateString() === new Date(now).toDateString() ? "" : `${at.toLocaleDateString("en-GB", { weekday: "short", day: "numeric", month: "short" })} `;
  return date + clock(time).slice(0, 5);
}

// answers are the buttons for a question: the text on each and what is sent.
export function answers(question) {
  return question.options
    .filter((o) => !o.text)
    .map((o) => ({ label: o.word || `${o.number} ${o.label}`, about: o.word ? o.label : o.about ?? "", answer: String(o.number) }));
}

// takesText reports whether a text answers a question.
export const takesText = (q) => q.free_text || q.options.length === 0 || q.options.some((o) => o.text);

// drifts is what differs between declared and actual, for each session that a plan names.
export function drifts(plan) {
  const all = new Map();
  const add = (address, text) => {
    if (text) all.set(address, [...(all.get(address) ?? []), text]);
  };
  for (const d of plan?.drift ?? []) add(d.address, d.detail || d.kind.replaceAll("_", " "));
  for (const c of plan?.changes ?? []) {
    if (c.action !== "none") add(c.address, `${symbols[c.action] ?? ""} ${c.action}: ${c.detail || c.reason.replaceAll("_", " ")}`.trim());
  }
  return all;
}

// symbols are those of agentform plan.
export const symbols = {
  create: "+", update: "~", restart: "↻", replace: "±", pause: "‖", resume: "‖", stop: "‖", delete: "-", adopt: ">", forget: ".", hold: "…",
};

// declared and actual are the two sides of the drift column.
export const declared = (s) => `${s.desired} on ${s.branch || "no branch"}`;
export function actual(s) {
  const branch = s.branch_ok === false ? s.branch_live || "another branch" : s.branch_live || s.branch || "no branch";
  return `${s.state} on ${branch}`;
}
export const agrees = (s) => s.branch_ok !== false && (s.desired === s.state || (s.desired === "running" && s.state === "starting"));

// counts returns how many sessions there are in each state: 1 stale, 6 running.
export function counts(all, wrong = 0) {
  const parts = Object.entries(all ?? {}).map(([state, n]) => `${n} ${state}`);
  if (wrong) parts.push(`${wrong} on the wrong branch`);
  return parts.length ? parts.join(", ") : "no sessions";
}

// rows filters, sorts and groups sessions for the fleet: a row has a group's name or a session.
export function rows(sessions, { filter = "", sort = "", descending = false, group = "" } = {}) {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  const text = (s) => [s.name, s.address, s.role, s.agent, s.runtime, s.state, s.activity, s.branch, s.detail, s.needs?.reason].join(" ").toLowerCase();
  let all = words.length ? sessions.filter((s) => words.every((w) => text(s).includes(w))) : sessions;
  const value = columns[sort];
  if (value) {
    const sign = descending ? -1 : 1;
    all = all.map((s, i) => [value(s), i, s]).sort(([a, i], [b, j]) => sign * (a < b ? -1 : a > b ? 1 : 0) || i - j).map(([, , s]) => s);
  }
  if (!group) return all.map((session) => ({ session }));
  const groups = new Map();
  for (const s of all) {
    const name = s[group] || "none";
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name).push(s);
  }
  return [...groups].sort(([a], [b]) => (a < b ? -1 : 1)).flatMap(([name, some]) => [{ group: name, count: some.length }, ...some.map((session) => ({ session }))]);
}

// columns are what the fleet can be sorted by.
export const columns = {
  session: (s) => s.name,
  state: (s) => s.state,
  activity: (s) => s.activity,
  drift: (s) => (agrees(s) ? 1 : 0),
  changes: (s) => (s.changes ? s.changes.added + s.changes.removed + s.changes.untracked : -1),
  tokens: (s) => s.usage?.total ?? s.tokens ?? -1,
  cost: (s) => s.usage?.cost ?? -1,
  age: (s) => -(Date.parse(s.started_at ?? "") || 0),
  restarts: (s) => s.restarts,
};

export function changed(s) {
  const c = s.changes;
  if (!c) return "";
  const parts = [];
  if (c.added || c.removed) parts.push(`+${c.added} −${c.removed}`);
  if (c.untracked) parts.push(`${c.untracked} new`);
  if (c.ahead) parts.push(`${c.ahead} ahead`);
  if (c.behind) parts.push(`${c.behind} behind`);
  return parts.join(" · ");
}

// conflicts returns what the work of a session cannot be merged with, and in which files.
export function conflicts(s) {
  return (s.conflicts ?? []).map((c) => ({ name: c.base || c.with.replace(/^session\./, ""), files: c.files }));
}

// span is a time that has passed, or is to come, in one or two units.
export function span(ms) {
  const s = Math.max(0, Math.round(ms / 1000));
  if (s < 60) return `${s}s`;
  if (s < 3600) return `${Math.floor(s / 60)}m`;
  if (s < 86400) return `${Math.floor(s / 3600)}h${String(Math.floor((s % 3600) / 60)).padStart(2, "0")}m`;
  return `${Math.floor(s / 86400)}d`;
}
export const countdown = (ms) => {
  const s = Math.max(0, Math.ceil(ms / 1000));
  return s < 3600 ? `${Math.floor(s / 60)}:${String(s % 60).padStart(2, "0")}` : span(ms);
};
export const number = (n) => (n == null ? "" : n < 10000 ? String(n) : n < 1e6 ? `${Math.round(n / 1000)}k` : `${(n / 1e6).toFixed(1)}M`);
// cost is the list price of what a session used, as status --wide has it: * where models
// have no price.
export function cost(u) {
  if (!u) return "";
  if (u.cost === null) return u.total ? "unpriced*" : "";
  return `$${u.cost.toFixed(2)}${u.unpriced ? "*" : ""}`;
}
export const priced = (u) => (u?.unpriced ? `${u.unpriced} tokens are of models without a price` : "");
export const used = (u) => `${u.total}: ${u.input} in, ${u.cache_read} read from a cache, ${u.cache_write + u.cache_write_1h} written to it, ${u.output} out`;
export const clock = (time, zone) => new Date(time).toLocaleTimeString("en-GB", { timeZone: zone });

// line is an event as it is listed.
export function line(e, zone) {
  const words = [e.type.replaceAll("_", " ")];
  if (e.action) words.push(e.action);
  if (e.old || e.new) words.push(`${e.old ?? ""} → ${e.new ?? ""}`);
  if (e.reason) words.push(e.reason.replaceAll("_", " "));
  if (e.by) words.push(`by ${e.by}`);
  if (e.detail) words.push(e.detail);
  return { time: clock(e.time, zone), text: words.join("  ") };
}

const activities = ["working", "idle", "blocked", "blocked_api", "failed"];

// after is a session after an event, until the hub is asked for all of it.
export function after(s, e) {
  if (e.type !== "status_changed" || e.address !== s.address || !activities.includes(e.new)) return s;
  return { ...s, activity: e.new, status: e.new, question: e.question ?? null, detail: e.question?.text ?? e.detail ?? "" };
}

// patch reads a diff in git's format into files, hunks and lines with their numbers.
export function patch(text) {
  const files = [];
  let file = null;
  let hunk = null;
  let before = 0;
  let after = 0;
  for (const l of text.split("\n")) {
    if (l.startsWith("diff --git ")) {
      file = { path: l.slice(l.lastIndexOf(" b/") + 3), head: [], hunks: [] };
      hunk = null;
      files.push(file);
      continue;
    }
    if (!file) continue;
    const at = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/.exec(l);
    if (at) {
      [before, after] = [Number(at[1]), Number(at[2])];
      hunk = { title: l, lines: [] };
      file.hunks.push(hunk);
    } else if (!hunk) {
      if (l.startsWith("+++ b/")) file.path = l.slice(6).replace(/\t$/, "");
      else if (l) file.head.push(l);
    } else if (l[0] === "+") hunk.lines.push({ kind: "added", text: l.slice(1), after: after++ });
    else if (l[0] === "-") hunk.lines.push({ kind: "removed", text: l.slice(1), before: before++ });
    else if (l[0] === " ") hunk.lines.push({ kind: "same", text: l.slice(1), before: before++, after: after++ });
  }
  return files;
}

// comment is a remark on a line, as the agent gets it.
export const comment = (path, l, text) => `${path}:${l.after ?? l.before}: ${text.trim().replace(/\s*\n\s*/g, " ")}`;

// retry is how long a page waits before it connects again, in ms: 0.2 s, then twice as
// long each time, to 10 s.
export const retry = (times) => Math.min(200 * 2 ** times, 10000);

// due are the needs that a person is told of now: once each, after they have lasted 5 s.
export function due(sessions, told, now) {
  const key = (s) => `${s.address} ${s.needs.reason} ${s.needs.since}`;
  return sessions.filter((s) => s.needs && !told.has(key(s)) && now - Date.parse(s.needs.since) >= 5000).map((s) => ({ session: s, key: key(s) }));
}

// pull is the address of a session's pull request, and how it is.
export function pull(s) {
  const p = s.pr;
  if (!p?.number) return s.pr_url;
  const parts = [p.state, p.checks && `checks ${p.checks}`, p.reviews && `${p.reviews} ${p.reviews === 1 ? "review" : "reviews"}`, p.round && `sent ${p.round}/${p.rounds}`];
  return `${p.url} (${parts.filter(Boolean).join(", ")})`;
}

// landed says how many of an order have landed.
export const landed = (d) => `${d.steps.filter((x) => x.landed).length} of ${d.steps.length} ${d.steps.length === 1 ? "session" : "sessions"} landed.`;

// outcome is what became of a step of an order.
export const outcome = (x) => (x.landed ? `landed, ${x.base} is now at ${x.base_is.slice(0, 7)}` : x.error ? x.error : "not landed: one before it failed");

// leftOut is why a session does not land, without its name.
export const leftOut = (x) => (x.why.startsWith(x.address) ? x.why.slice(x.address.length).replace(/^[: ]+/, "") : x.why);

// refreshed is what became of bringing a base into a branch.
export function refreshed(x) {
  if (x.error) return x.error;
  if (x.sent) return `Its agent was asked to merge ${x.base}, which conflicts in ${x.conflicts.join(", ")}.`;
  if (x.conflicts.length) return `${x.base} conflicts in ${x.conflicts.join(", ")}: nothing was changed.`;
  if (x.already) return `${x.branch} has all of ${x.base} already.`;
  const commits = `${x.commits} ${x.commits === 1 ? "commit" : "commits"} of ${x.base}`;
  return x.method === "rebase" ? `${x.branch} is rebased onto ${commits}.` : `${commits} merged into ${x.branch}.`;
}

// headline says what a report is of.
export function headline(r) {
  const parts = [`${r.sessions.length} active ${r.sessions.length === 1 ? "session" : "sessions"}`];
  if (r.needs.length) parts.push(r.needs.length === 1 ? "1 needs attention" : `${r.needs.length} need attention`);
  if (r.usage.total) parts.push(cost(r.usage));
  return parts.join(", ");
}

// result is what became of the work of a session in a report.
export function result(x) {
  const parts = [changed(x)];
  if (x.conflicts?.length) parts.push(`conflicts with ${conflicts(x).map((c) => c.name).join(", ")}`);
  if (x.verified) parts.push(x.verified.ok ? "verified" : x.verified.round ? `red ${x.verified.round}/${x.verified.rounds}` : "red");
  if (x.landed) parts.push(x.landed.into ? `landed in ${x.landed.into}` : "landed");
  else if (x.finished) parts.push("finished");
  return parts.filter(Boolean).join(" · ");
}

// waited is what a session in a report waited for, and how long.
export const waited = (x) => x.waits.map((t) => `${span(t.elapsed_seconds * 1000)} ${t.for}`).join(", ");

// short is a name for a link: of the address, and back.
export const link = (s, tab = "terminal") => `#/s/${encodeURIComponent(s.address)}/${tab}`;
export function route(hash) {
  const [, view = "", a = "", tab = ""] = hash.replace(/^#/, "").split("/");
  if (view === "s" && a) return { view: "session", address: decodeURIComponent(a), tab: tab || "terminal" };
  return { view: ["plan", "needs", "report"].includes(view) ? view : "fleet" };
}
