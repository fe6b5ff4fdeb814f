// Events as they are listed.

// timeline are the entries of a session's timeline with their events, the youngest first.
export function timeline(d) {
  let at = 0;
  return d.timeline.map((x) => ({ ...x, events: d.events.slice(at, (at += x.events)) })).reverse();
}
