// What a session is to people, and what they can do with it.
import { day, span } from "../model/times.mjs";

// known are the actions that the page offers: what a button says, and what is said afterwards.
const known = {
  answer: { label: "Answer", icon: "answer" },
  send: { label: "Send", icon: "send" },
  "restart-session": { label: "Restart", icon: "restart", done: "restarted", doing: "Restarting" },
  start: { label: "Start", icon: "start", done: "started", doing: "Starting" },
  restart: {
    label: "Restart",
    icon: "restart",
    done: "restarted",
    doing: "Restarting",
    about: "Its agent is stopped first. The conversation is resumed.",
  },
  pause: { label: "Pause", icon: "pause", done: "paused", doing: "Pausing" },
  resume: { label: "Resume", icon: "resume", done: "resumed", doing: "Resuming" },
  stop: {
    label: "Stop",
    icon: "stop",
    done: "stopped",
    doing: "Stopping",
    about: "Its workspace and branch are kept.",
  },
};

// verbs returns the buttons of a session. Starting one that a budget holds lets its budgets start over.
export const verbs = (s) =>
  s.actions
    .filter((name) => known[name] && !(name === "restart" && s.actions.includes("restart-session")))
    .map((name) => {
      const over = name === "start" && s.over_budget;
      return { ...known[name], name, over, label: over ? "Start anyway…" : known[name].label };
    });

// shared returns the verbs of several sessions, each with those sessions that have it. Each question has
// answers of its own.
export function shared(sessions) {
  const all = new Map();
  for (const s of sessions) {
    for (const verb of verbs(s)) {
      if (verb.name === "answer" || verb.over) continue;
      if (!all.has(verb.name)) all.set(verb.name, { verb, sessions: [] });
      all.get(verb.name).sessions.push(s);
    }
  }
  return [...all.values()];
}

// restarts returns the action that starts the agent of a session again.
export const restarts = (s) => s.actions.find((name) => ["restart-session", "start", "restart"].includes(name));

// held says which budget holds a session, and until when.
export function held(s, now) {
  const o = s.over_budget;
  if (!o) return "";
  const until = o.until
    ? `until ${day(o.until, now)}, in ${span(Date.parse(o.until) - now)}`
    : "until its budget is larger or starts over: its period has no end";
  return `${o.desired} by the budget ${o.budget}: ${o.detail}; ${until}`;
}

// again says what a session may spend that is started although a budget holds it.
export function again(s, now) {
  const o = s.over_budget;
  const until = o.until ? ` until ${day(o.until, now)}` : "";
  return (
    `The budget ${o.budget} is used up: ${o.detail}. All budgets of ${s.name} start over, ` +
    `so that it may spend as much again${until}. This is recorded with your name.`
  );
}

// answers are the buttons for a question: the text on each and what is sent.
export function answers(question) {
  return question.options
    .filter((o) => !o.text)
    .map((o) => {
      const label = o.word || o.label;
      const about = o.word ? o.label : (o.about ?? "");
      return { label, about: about.toLowerCase() === label.toLowerCase() ? "" : about, answer: String(o.number) };
    });
}

// takesText reports whether a text answers a question.
export const takesText = (q) => q.free_text || q.options.length === 0 || q.options.some((o) => o.text);

// lines is how much the work of a session is.
export function lines(s) {
  const c = s.changes;
  if (!c) return "";
  const parts = [];
  if (c.added || c.removed) parts.push(`+${c.added} −${c.removed}`);
  if (c.untracked) parts.push(`${c.untracked} new`);
  if (c.ahead) parts.push(`${c.ahead} ahead`);
  return parts.join(" · ");
}

// behind is how many commits the branch of a session lacks.
export const behind = (s) => (s.changes?.behind ? `${s.changes.behind} behind` : "");

export const changed = (s) => [lines(s), behind(s)].filter(Boolean).join(" · ");

// conflicts returns what the work of a session cannot be merged with, and in which files.
export function conflicts(s) {
  return (s.conflicts ?? []).map((c) => ({ name: c.base || c.with.replace(/^session\./, ""), files: c.files }));
}

export const conflictNames = (all) => `conflicts with ${all.map((c) => c.name).join(", ")}`;
export const conflictTitle = (all) => all.map((c) => `${c.name}: ${c.files.join(", ")}`).join("\n");

// need is for how long a session has needed somebody, where its word does not have the same time.
export const need = (s, now) => (s.needs && !s.word_since ? `for ${span(now - Date.parse(s.needs.since))}` : "");

// due are the needs to notify of now: once each, after they have lasted 5 s.
export function due(sessions, told, now) {
  const key = (s) => `${s.address} ${s.needs.reason} ${s.needs.since}`;
  return sessions
    .filter((s) => s.needs && !told.has(key(s)) && now - Date.parse(s.needs.since) >= 5000)
    .map((s) => ({ session: s, key: key(s) }));
}

// pull is the address of a session's pull request, and how it is.
export function pull(s) {
  const p = s.pr;
  if (!p?.number) return s.pr_url;
  const parts = [
    p.state,
    p.checks && `checks ${p.checks}`,
    p.reviews && `${p.reviews} ${p.reviews === 1 ? "review" : "reviews"}`,
    p.round && `sent ${p.round}/${p.rounds}`,
  ];
  return `${p.url} (${parts.filter(Boolean).join(", ")})`;
}

// lastLines is the end of a screen, without the empty lines below it.
export const lastLines = (text, n) => text.trimEnd().split("\n").slice(-n).join("\n");

// ended says since when a session shows its last screen: ended at 14:02, exit status 3.
export function ended(s, now) {
  if (s.session_alive)
    return s.state === "paused" ? "Paused: this is its screen." : "The connection to its terminal has ended.";
  if (!s.started_at) return "It has not started yet.";
  const at = s.exit?.at ?? s.since;
  const how = s.exit ? (s.exit.signal ? `ended by ${s.exit.signal}` : `exit status ${s.exit.code}`) : "";
  return ["Its agent has ended", at && ` at ${day(at, now)}`, how && `, ${how}`, "."].filter(Boolean).join("");
}
