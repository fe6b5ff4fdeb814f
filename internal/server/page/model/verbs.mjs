// What can be done with sessions.
import { day, span } from "../model/times.mjs";

// known are the actions that the page offers: what a button says, and what is said afterwards. Some end an agent.
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
    ends: true,
  },
  pause: { label: "Pause", icon: "pause", done: "paused", doing: "Pausing" },
  resume: { label: "Resume", icon: "resume", done: "resumed", doing: "Resuming" },
  stop: {
    label: "Stop",
    icon: "stop",
    done: "stopped",
    doing: "Stopping",
    ends: true,
  },
};

// verbs returns the buttons of a session, last those that end its agent. Starting one that a budget holds lets its
// budgets start over.
export const verbs = (s) =>
  s.actions
    .filter((name) => known[name] && !(name === "restart" && s.actions.includes("restart-session")))
    .map((name) => {
      const over = name === "start" && s.over_budget;
      return { ...known[name], name, over, label: over ? "Start anyway…" : known[name].label };
    })
    .sort((a, b) => Boolean(a.ends) - Boolean(b.ends));

// asked says what carrying out a verb with sessions means: what becomes of the work of each whose agent it ends.
export function asked(all, v) {
  const stays = all.length > 1 ? "They stay stopped until they are started." : "It stays stopped until it is started.";
  const kept = v.ends || v.name === "restart-session" ? [...new Set(all.map((s) => s.kept))] : [];
  const rest = v.name === "stop" ? [stays] : [];
  const named = (k) =>
    `${all
      .filter((s) => s.kept === k)
      .map((s) => s.name)
      .join(", ")}: ${k}`;
  if (all.length === 1) return [...kept, ...rest].filter(Boolean).join(" ");
  return kept.length ? [...kept.map(named), ...rest].join("\n") : all.map((s) => s.name).join(", ");
}

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

// offered are the verbs for several sessions, each always in the same place: those that no session has now have none.
export function offered(sessions) {
  const some = shared(sessions);
  const none = (name) => ({ verb: { ...known[name], name }, sessions: [] });
  const places = ["send", "pause", "resume", "start", "restart", "stop"];
  const other = some.find((x) => x.verb.name === "restart-session"); // in the place of restart, if that has none
  const all = places.map(
    (name) => some.find((x) => x.verb.name === name) ?? ((name === "restart" && other) || none(name)),
  );
  return all.concat(other && !all.includes(other) ? other : []);
}

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
