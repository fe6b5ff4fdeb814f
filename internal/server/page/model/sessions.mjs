// What a session is to people, and what they can do with it.
import { day, span } from "../model/times.mjs";

// answers are the buttons for a question: the text on each and what is sent. The first is what one mostly wants, unless
// it permits what the agent is about to do.
export function answers(question) {
  return question.options
    .filter((o) => !o.text)
    .map((o, i) => {
      const label = o.word || o.label;
      const about = o.word ? o.label : (o.about ?? "");
      return {
        label,
        about: about.toLowerCase() === label.toLowerCase() ? "" : about,
        answer: String(o.number),
        primary: !i && !o.word,
      };
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

// ended says since when a session shows its last screen. How it ended is in its word, and why.
export function ended(s, now) {
  if (s.session_alive)
    return s.state === "paused" ? "Paused: this is its screen." : "The connection to its terminal has ended.";
  if (!s.started_at) return "It has not started yet.";
  const at = s.exit?.at ?? s.since;
  return `Its agent has ended${at ? ` at ${day(at, now)}` : ""}.`;
}

// untaken says why a session takes no text.
export function untaken(s) {
  if (s.actions.includes("answer")) return "Its agent asks: answer that first.";
  if (s.actions.includes("resume")) return "It is paused: resume it to send it a text.";
  return "Its agent does not run: start it to send it a text.";
}
