// What the page knows, and what draws it.
import { route } from "./model.mjs";

export const kept = 200; // events on the page
export const store = {
  sessions: [],
  version: "", // of the sessions
  plan: null,
  events: [],
  access: null,
  connected: false,
  loaded: false,
  left: false, // it has logged out
  trouble: "",
  notice: "",
  route: route(location.hash),
  now: Date.now(),
  dialog: null,
  places: null, // of max_running, and how many are taken
  hubFault: "", // why the hub is not well
  away: null, // since when the hub does not answer, and when it is asked again
  answered: [], // questions, by this page
};
let draw = () => {};

// drawnBy gives the function that draws the page.
export const drawnBy = (f) => (draw = f);
export const redraw = () => draw();

// set changes the store, and draws the page.
export function set(change) {
  Object.assign(store, change);
  draw();
}

// fail shows why a request failed. Where the hub did not answer at all, the page says that in one place.
export function fail(e) {
  if (e.status === 401) set({ access: null, loaded: true });
  else set({ trouble: e.status ? e.message : "The hub does not answer: nothing was done." });
}
// me is the name of the login of this page.
export const me = () => store.access?.by ?? "";
export const operates = () => store.access?.scope === "operate";
