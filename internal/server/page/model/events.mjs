// Events as they are listed.

// youngest are events by their time, the youngest first. Those of one time stay in the order in which they came.
export const youngest = (all) => [...all].sort((a, b) => Date.parse(b.time) - Date.parse(a.time));

// differing are the differences of a plan, each with what its problem says, and the problems that are none of them.
export function differing(plan) {
  const problems = [...plan.errors, ...plan.warnings];
  const same = (d, p) => p.address === d.address && p.summary === d.kind.replaceAll("_", " ");
  return {
    drift: plan.drift.map((d) => ({ ...d, detail: problems.find((p) => same(d, p))?.detail ?? d.detail })),
    problems: problems.filter((p) => !plan.drift.some((d) => same(d, p))),
  };
}

// timeline are the entries of a session's timeline with their events, the youngest first.
export function timeline(d) {
  let at = 0;
  return d.timeline.map((x) => ({ ...x, events: d.events.slice(at, (at += x.events)) })).reverse();
}
