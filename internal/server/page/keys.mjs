// The keys of the page.
import { chosen, press as pressInFleet } from "./places.mjs";
import * as model from "./model.mjs";
import { press as pressInNeeds } from "./needs.mjs";
import { tabs } from "./session/session.mjs";
import { operates, set, store } from "./store.mjs";
import { ask } from "./verbs.mjs";

const places = { f: "#/", w: "#/wall", p: "#/plan", n: "#/needs", r: "#/report", u: "#/usage" };
const verbKeys = { a: ["answer"], s: ["send"], r: ["restart-session", "restart", "start"], p: ["pause", "resume"] };
const typed = "input:not([type=checkbox]), textarea, select"; // where keys are text
let before = "";

// press does what a key of the page does.
export function press(e) {
  if ((e.ctrlKey || e.metaKey) && !e.shiftKey && e.key.toLowerCase() === "k") {
    e.preventDefault();
    return set({ dialog: { jump: true } });
  }
  if (e.ctrlKey || e.metaKey || e.altKey || store.dialog || e.target.closest(typed)) return;
  if (e.key === "Enter" && /^(A|BUTTON)$/.test(e.target.tagName)) return;
  const goes = before === "g" && places[e.key];
  before = e.key;
  if (goes) location.hash = goes;
  else if (e.key === "?") set({ dialog: { help: true } });
  else if (!inView(e.key)) return;
  e.preventDefault();
}

function inView(key) {
  const r = store.route;
  if (r.view === "needs") return pressInNeeds(key);
  if (r.view === "fleet" && pressInFleet(key)) return true;
  if (r.view === "session" && tabs[Number(key) - 1]) {
    location.hash = model.link(r, tabs[Number(key) - 1]);
    return true;
  }
  const all = r.view === "fleet" ? chosen() : store.sessions.filter((s) => s.address === r.address);
  return operates() && all.length > 0 && onSessions(key, all);
}

// onSessions does what a key does with sessions: with one of them what it has, with several what most have.
function onSessions(key, all) {
  if (key === "l" && all.length === 1) {
    set({ dialog: { land: all[0] } });
    return true;
  }
  const names = verbKeys[key] ?? [];
  if (all.length === 1) {
    const v = model.verbs(all[0]).find((v) => names.includes(v.name));
    if (v) ask(all, v);
    return Boolean(v);
  }
  const x = model
    .shared(all)
    .filter((x) => names.includes(x.verb.name))
    .sort((a, b) => b.sessions.length - a.sessions.length)[0];
  if (x) ask(x.sessions, x.verb);
  return Boolean(x);
}
