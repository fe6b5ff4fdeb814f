// Where a person is in the fleet: its filter, the current row, and the sessions that are selected.
import * as model from "./model.mjs";
import { operates, redraw, set, store } from "./store.mjs";

// rowHeight is that of tokens.css, in px: a phone has larger rows.
export const rowHeight = () => parseInt(getComputedStyle(document.documentElement).getPropertyValue("--row"), 10);
export const places = { at: -1, chosen: new Set() }; // the current row, and the addresses that are selected

// shape is how the fleet is filtered, sorted and grouped: a part of the address of the page.
export const shape = () => ("filter" in store.route ? store.route : model.route(""));
export const reshape = (change) => {
  places.at = -1;
  const route = { ...shape(), ...change };
  history.replaceState(null, "", model.fleetLink(route));
  set({ route });
};
export const shownRows = () => model.rows(store.sessions, shape());

// choose selects a session, or no longer.
export const choose = (s) => {
  if (!places.chosen.delete(s.address)) places.chosen.add(s.address);
  redraw();
};

export const chooseNone = () => (places.chosen.clear(), redraw());

// chooseAll selects all sessions that are shown, or none if all are.
export function chooseAll() {
  const shown = shownRows()
    .filter((r) => r.session)
    .map((r) => r.session.address);
  const all = shown.every((a) => places.chosen.has(a));
  for (const a of shown) all ? places.chosen.delete(a) : places.chosen.add(a);
  redraw();
}

// chosen are the sessions that are selected, else that of the current row.
export function chosen() {
  const all = store.sessions.filter((s) => places.chosen.has(s.address));
  const current = shownRows()[places.at]?.session;
  return all.length ? all : current ? [current] : [];
}

export const landAll = () => set({ dialog: { landAll: true }, trouble: "", notice: "" });

// step moves the current row. What had the focus, as a link of the head, does not get the next Enter.
export function step(by) {
  const all = shownRows();
  let at = places.at;
  do at += by;
  while (all[at] && !all[at].session);
  if (!all[at]) return;
  places.at = at;
  redraw();
  const table = document.querySelector(".table");
  table.focus({ preventScroll: true });
  const height = rowHeight();
  const end = (at + 2) * height - table.clientHeight;
  if (table.scrollTop > at * height) table.scrollTop = at * height;
  else if (table.scrollTop < end) table.scrollTop = end;
}

// press does what a key of the fleet does, and reports whether there is one.
export function press(key) {
  const current = shownRows()[places.at]?.session;
  if (key === "j" || key === "ArrowDown") step(1);
  else if (key === "k" || key === "ArrowUp") step(-1);
  else if (key === "/") document.getElementById("filter")?.focus();
  else if (key === "L" && operates()) landAll();
  else if (key === "x" && current) choose(current);
  else if (key === "Escape" && places.chosen.size) chooseNone();
  else if (key === "Enter" && current) location.hash = model.link(current);
  else return false;
  return true;
}
