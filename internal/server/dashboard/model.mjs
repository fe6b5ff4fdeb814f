// What is shown of a session and of an event, as plain values: nothing here touches
// the page. Agents' text passes through as text, and is put into the page as text.

// verbs are what a session can be told, and when that makes sense.
export const verbs = [
  { name: "restart-session", label: "Restart session", when: (s) => s.state === "stale" },
  { name: "start", label: "Start", when: (s) => ["stopped", "error", "pending"].includes(s.state) },
  { name: "pause", label: "Pause", when: (s) => s.session_alive === true && s.state !== "paused" },
  { name: "resume", label: "Resume", when: (s) => s.state === "paused" },
  { name: "stop", label: "Stop", when: (s) => s.session_alive === true },
];

// budget says how often a session was started again, and when it will be next.
export function budget(s, zone) {
  const b = s.restart_budget;
  if (!b || !b.reason) return { count: String(s.restarts), more: "" };
  if (b.reason === "backing_off" && b.until) {
    return { count: String(s.restarts), more: `next try ${clock(b.until, zone)} (${b.try} of ${b.of})` };
  }
  return { count: String(s.restarts), more: b.reason.replaceAll("_", " ") };
}

// row is a session as its line in the table.
export function row(s, zone) {
  const b = budget(s, zone);
  const asks = s.activity === "blocked" || s.activity === "blocked_api";
  return {
    address: s.address,
    state: s.state,
    detail: asks || s.state === "running" || s.detail === s.state ? "" : local(s.detail, zone),
    activity: s.activity,
    // Of one that asks, the question.
    question: asks ? s.detail : "",
    branch: s.branch,
    strayed: strayed(s),
    restarts: b.count,
    next: b.more,
    verbs: verbs.filter((v) => v.when(s)).map((v) => v.name),
  };
}

// strayed returns what is wrong with the workspace's branch: in short where it is, and
// else what the hub says, such as that the workspace is gone.
function strayed(s) {
  if (s.branch_ok === false && s.branch_live) return `on ${s.branch_live}`;
  return s.branch_fault;
}

// counts returns how many sessions there are in each state, and of them on the wrong
// branch: 1 stale, 6 running, 1 on the wrong branch.
export function counts(all, wrong = 0) {
  const parts = Object.entries(all).map(([state, n]) => `${n} ${state}`);
  if (wrong) parts.push(`${wrong} on the wrong branch`);
  return parts.length ? parts.join(", ") : "no sessions";
}

// line is an event as it is listed.
export function line(e, zone) {
  const words = [e.type.replaceAll("_", " "), e.address];
  if (e.action) words.push(e.action);
  if (e.old || e.new) words.push(`${e.old ?? ""} → ${e.new ?? ""}`);
  if (e.reason) words.push(e.reason.replaceAll("_", " "));
  if (e.by) words.push(`by ${e.by}`);
  if (e.detail) words.push(local(e.detail, zone));
  return { time: clock(e.time, zone), text: words.join("  ") };
}

// local is a text with its times as clock gives them.
function local(text, zone) {
  return text.replace(/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, (time) => clock(time, zone));
}

export function clock(time, zone) {
  return new Date(time).toLocaleTimeString("en-GB", { timeZone: zone });
}

// stream reads server-sent events out of a text that comes in pieces.
export function stream(tell) {
  let rest = "";
  let id = "";
  let data = "";
  return (piece) => {
    const lines = (rest + piece).split("\n");
    rest = lines.pop();
    for (const line of lines) {
      if (line === "") {
        if (data !== "") tell({ id, event: JSON.parse(data) });
        data = "";
      } else if (line.startsWith("id: ")) {
        id = line.slice(4);
      } else if (line.startsWith("data: ")) {
        data = line.slice(6);
      }
    }
  };
}
