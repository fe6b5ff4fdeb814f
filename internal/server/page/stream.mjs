// What the hub says: its documents, and its events.
import { ask } from "./api.mjs";
import { merged, retry } from "./model.mjs";
import { notify } from "./notices.mjs";
import { fail, kept, set, store } from "./store.mjs";

const interval = 5000; // ms, if no event comes
const whole = 300e3; // ms until all sessions are asked for, and not only those that have changed
let wholeAt = -Infinity;
let asking = false;
let again = false;
let refreshing = 0;
export async function refresh() {
  if (asking) return void (again = true);
  asking = true;
  const began = performance.now();
  try {
    const version = began - wholeAt < whole ? store.version : "";
    const sessions = `/v1/sessions?ranked=true${version && `&version=${version}`}`;
    const [d, plan] = await Promise.all([ask(sessions), ask("/v1/plan?none=false")]);
    if (!d.since) wholeAt = began;
    const fleet = { sessions: merged(store.sessions, d), version: d.version ?? "" };
    set({ ...fleet, places: d.places, hubFault: d.hub_fault, plan, loaded: true, away: null });
    notify();
  } catch (e) {
    if (e.status) fail(e);
    else set({ away: { since: store.away?.since ?? Date.now(), next: Date.now() + interval } });
  }
  asking = false;
  clearTimeout(refreshing);
  // A large fleet takes longer: at most a third of the time goes into it.
  refreshing = setTimeout(refresh, again ? Math.max(50, 2 * (performance.now() - began)) : interval);
  again = false;
}
export const soon = () => {
  clearTimeout(refreshing);
  refreshing = setTimeout(refresh, 20);
};

const past = 3600e3; // ms of which events are shown at first
let stream = null;
let last = `0.0.${Date.now() - past}000000`; // the id of an event; this is a time, in ns
let streamTries = 0;
const same = (e, other) => other && e.time === other.time && e.type === other.type && e.address === other.address;

export function listen() {
  stream?.close();
  stream = new EventSource(`/v1/events?excerpts=false&after=${encodeURIComponent(last)}`);
  stream.onopen = () => {
    streamTries = 0;
    set({ connected: true });
    soon();
  };
  stream.onmessage = ({ data, lastEventId }) => {
    last = lastEventId;
    const e = { id: lastEventId, ...JSON.parse(data) };
    if (same(e, store.events[0])) return;
    set({ events: [e, ...store.events].slice(0, kept) });
    soon();
  };
  stream.onerror = () => {
    if (store.connected) set({ connected: false });
    stream.close();
    const [newest] = store.events; // an id of a hub that has ended is not known to the next
    last = `0.0.${(newest ? Date.parse(newest.time) : Date.now()) - 1}000000`;
    setTimeout(listen, retry(streamTries++));
  };
}
