// The rows of the fleet: filtered, sorted and grouped.
import { conflictNames, conflicts } from "../model/sessions.mjs";

const prefixed = /^(is|role|agent|runtime|branch):(.*)$/;

// valueOf is what a prefix of a filter is compared with.
const valueOf = (s, field) => (field === "is" ? s.word.replaceAll(" ", "-") : s[field].toLowerCase());

// query reads a filter: is:asks role:builder agent:, runtime:, branch:, and words that rows have. In a word
// of is: a hyphen stands for a space.
export function query(filter) {
  return filter
    .toLowerCase()
    .split(/\s+/)
    .filter(Boolean)
    .map((term) => {
      const [, field, value] = prefixed.exec(term) ?? [];
      if (field === "branch") return (s) => `${s.branch} ${s.branch_live}`.toLowerCase().includes(value);
      if (field) return (s) => valueOf(s, field) === value;
      return (s) => searched(s).includes(term);
    });
}

function searched(s) {
  const all = conflicts(s);
  const texts = [
    s.name,
    s.address,
    s.role,
    s.agent,
    s.runtime,
    s.word,
    s.branch,
    s.branch_live,
    s.why,
    s.needs?.reason,
  ];
  return [...texts, all.length && conflictNames(all)].join(" ").toLowerCase();
}

// absent says which values of a filter no session has, and which there are.
export function absent(sessions, filter) {
  const said = [];
  for (const term of filter.toLowerCase().split(/\s+/)) {
    const [, field, value] = prefixed.exec(term) ?? [];
    if (!field || field === "branch") continue; // a part of a branch is enough
    const there = [...new Set(sessions.map((s) => valueOf(s, field)))].filter(Boolean);
    if (there.includes(value)) continue;
    const others = there.map((x) => `${field}:${x}`).join(", ");
    said.push(`No session has ${term}. There ${others ? `are ${others}` : "is none"}.`);
  }
  return said;
}

// toggled is a filter with or without sessions of a word.
export function toggled(filter, word) {
  const term = `is:${word.replaceAll(" ", "-")}`;
  const terms = filter.split(/\s+/).filter(Boolean);
  const others = terms.filter((t) => !t.startsWith("is:"));
  return (terms.includes(term) ? others : [...others, term]).join(" ");
}

// rows are what the fleet lists: a row has a group's name or a session.
export function rows(sessions, { filter = "", sort = "", descending = false, group = "" } = {}) {
  const terms = query(filter);
  let all = terms.length ? sessions.filter((s) => terms.every((is) => is(s))) : sessions;
  const value = columns[sort];
  if (value) {
    const sign = descending ? -1 : 1;
    all = all
      .map((s, i) => [value(s), i, s])
      .sort(([a, i], [b, j]) => sign * (a < b ? -1 : a > b ? 1 : 0) || i - j)
      .map(([, , s]) => s);
  }
  if (!group) return all.map((session) => ({ session }));
  const groups = new Map();
  for (const s of all) {
    const name = s[group] || "none";
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name).push(s);
  }
  return [...groups]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([name, some]) => [{ group: name, count: some.length }, ...some.map((session) => ({ session }))]);
}

// columns are what the fleet can be sorted by.
export const columns = {
  status: (s) => s.word,
  session: (s) => s.name,
  branch: (s) => s.branch,
  changes: (s) => (s.changes ? s.changes.added + s.changes.removed + s.changes.untracked : -1),
  cost: (s) => s.usage?.cost ?? -1,
  age: (s) => -(Date.parse(s.started_at ?? "") || 0),
};

// merged are the sessions after a document of all, or of those that have changed, with their indexes among all.
export function merged(sessions, d) {
  if (!d.since) return d.sessions;
  const others = new Set([...(d.removed ?? []), ...d.sessions.map((s) => s.address)]);
  const all = sessions.filter((s) => !others.has(s.address));
  d.sessions.forEach((s, i) => all.splice(d.indexes[i], 0, s));
  return all;
}

// cards are the sessions that have a card: those that need somebody, and in its place one that needs nobody any more,
// for as long as it stays. While they are held none moves, and what is new comes last.
export function cards(before, needy, stays, held) {
  const of = (s) => needy.find((x) => x.address === s.address);
  const left = (s) => (stays(s) ? { ...s, needs: null, question: null } : null);
  if (held)
    return [
      ...before.map((s) => of(s) ?? left(s)).filter(Boolean),
      ...needy.filter((s) => !before.some((x) => x.address === s.address)),
    ];
  const all = [...needy];
  before.forEach((s, i) => !of(s) && stays(s) && all.splice(i, 0, left(s)));
  return all;
}

// differences are what a plan would change or has found to differ, by the address of the session.
export function differences(plan) {
  const all = new Map();
  const add = (address, text) => all.set(address, [...(all.get(address) ?? []), text]);
  for (const d of plan?.drift ?? []) add(d.address, d.detail || d.kind.replaceAll("_", " "));
  for (const c of plan?.changes ?? []) add(c.address, `${c.action}: ${c.detail || c.reason.replaceAll("_", " ")}`);
  return all;
}
