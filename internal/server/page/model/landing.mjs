// What became of landing and refreshing.
import { count } from "./times.mjs";

// landed says how many of an order have landed.
export const landed = (d) => `${d.steps.filter((x) => x.landed).length} of ${count(d.steps.length, "session")} landed.`;

// outcome is what became of a step of an order.
export const outcome = (x) =>
  x.landed
    ? `landed, ${x.base} is now at ${x.base_is.slice(0, 7)}`
    : x.error
      ? x.error
      : "not landed: one before it failed";

// leftOut is why a session does not land, without its name.
export const leftOut = (x) =>
  x.why.startsWith(x.address) ? x.why.slice(x.address.length).replace(/^[: ]+/, "") : x.why;

// refreshed is what became of bringing a base into a branch.
export function refreshed(x) {
  if (x.error) return x.error;
  if (x.sent) return `Its agent was asked to merge ${x.base}, which conflicts in ${x.conflicts.join(", ")}.`;
  if (x.conflicts.length) return `${x.base} conflicts in ${x.conflicts.join(", ")}: nothing was changed.`;
  if (x.already) return `${x.branch} has all of ${x.base} already.`;
  const commits = `${count(x.commits, "commit")} of ${x.base}`;
  return x.method === "rebase" ? `${x.branch} is rebased onto ${commits}.` : `${commits} merged into ${x.branch}.`;
}

// refreshing is what bringing a base into a branch would do.
export function refreshing(x) {
  if (x.already) return `${x.branch} has all of ${x.base} already.`;
  const commits = `${count(x.commits, "commit")} of ${x.base}`;
  return x.method === "rebase"
    ? `${x.branch} will be rebased onto ${commits}.`
    : `${commits} will be merged into ${x.branch}.`;
}

// unrefreshed is why that would not work, and what happens nevertheless.
export const unrefreshed = (why) =>
  `${why}\nIf conflicts are in the way, its agent is asked to merge where its refresh block says so.`;

// unsaved says what to do so that what is not committed lands.
export const unsaved = (what) =>
  `It has ${what}: write a message to commit ${/^1 [^,]*$/.test(what) ? "it" : "them"} first.`;

// lands reports whether a session has something to land. d is its whole diff, if that is known.
export function lands(s, d) {
  if (d) return d.files.length > 0 || d.ahead > 0;
  const c = s.changes;
  return !c || c.added + c.removed + c.untracked + c.ahead > 0;
}
