// What a session is and does, in the words of the hub.
import { clock, day, span } from "../model/times.mjs";

// text is the word of a session with what belongs behind it: asks 3m, limit until 14:00, exited (1).
export function text(s, now) {
  if (s.word_note) return `${s.word} ${s.word_note}`;
  if (s.word_since) return `${s.word} ${span(now - Date.parse(s.word_since))}`;
  if (s.word_until) return `${s.word} until ${day(s.word_until, now)}`;
  return s.word;
}

// sentence is an error, and on its next line what to do, as a sentence.
export const sentence = (text) => {
  const one = text.replace(/\s*\n\s*/g, ": ");
  return one[0].toUpperCase() + one.slice(1) + (/[.!?]$/.test(one) ? "" : ".");
};

const stamp = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)/g;

// yours is a text in which what was done by a login is done by you. me is the name of the login; empty: there is none.
export function yours(text, me) {
  if (!me) return text;
  const name = me.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return text.replace(new RegExp(`\\bby ${name}(?!\\w)`, "g"), "by you");
}

// local is a text with its times as clocks here show them, and what the login me did as done by you.
export const local = (text, now, me = "") =>
  yours(text, me).replace(stamp, (t) => {
    const at = new Date(t);
    return at.toDateString() === new Date(now).toDateString() ? clock(t) : day(t, now);
  });

// why is the reason for what a session is, on one line.
export const why = (s, now, me) => local(s.why, now, me);

// now is what a session does: why it is as it is, else the last that its agent said.
export const now = (s, at, me) => why(s, at, me) || s.doing;

// tally is how many sessions have each word, in the order in which they are listed.
export function tally(sessions) {
  const all = new Map();
  for (const s of sessions) {
    const x = all.get(s.word) ?? { word: s.word, tone: s.tone, count: 0 };
    x.count++;
    all.set(s.word, x);
  }
  return [...all.values()];
}
