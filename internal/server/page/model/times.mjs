// Times and numbers as people read them.

// day is a time with its date, if that is not today's.
export function day(time, now) {
  const at = new Date(time);
  const date =
    at.toDateString() === new Date(now).toDateString()
      ? ""
      : `${at.toLocaleDateString("en-GB", { weekday: "short", day: "numeric", month: "short" })} `;
  return date + clock(time).slice(0, 5);
}

// date is the day of a time.
export const date = (time) =>
  new Date(time).toLocaleDateString("en-GB", { weekday: "long", day: "numeric", month: "long" });

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

// begin is the beginning of a span, as ISO 8601 has it: of hours, or of "today"; "" of what has none.
export function begin(span, now) {
  if (!span) return "";
  return new Date(span === "today" ? new Date(now).setHours(0, 0, 0, 0) : now - span * 3600e3).toISOString();
}

// count is a number of things: 1 file, 2 files.
export const count = (n, what) => `${n} ${what}${n === 1 ? "" : "s"}`;

export const number = (n) =>
  n == null ? "" : n < 10000 ? String(n) : n < 1e6 ? `${Math.round(n / 1000)}k` : `${(n / 1e6).toFixed(1)}M`;

export const clock = (time, zone) => new Date(time).toLocaleTimeString("en-GB", { timeZone: zone });

// retry is how long a page waits before it connects again, in ms: 0.2 s, then twice as
// long each time, to 10 s.
export const retry = (times) => Math.min(200 * 2 ** times, 10000);
