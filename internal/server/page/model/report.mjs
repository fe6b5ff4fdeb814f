// What a report says.
import { cost } from "../model/costs.mjs";
import { changed, conflicts } from "../model/sessions.mjs";
import { span } from "../model/times.mjs";

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
  if (x.conflicts?.length)
    parts.push(
      `conflicts with ${conflicts(x)
        .map((c) => c.name)
        .join(", ")}`,
    );
  if (x.verified) parts.push(x.verified.word);
  if (x.landed) parts.push(x.landed.into ? `landed in ${x.landed.into}` : "landed");
  else if (x.finished) parts.push("finished");
  return parts.filter(Boolean).join(" · ");
}

// waited is what a session in a report waited for, and how long.
export const waited = (x) => x.waits.map((t) => `${span(t.elapsed_seconds * 1000)} ${t.for}`).join(", ");
