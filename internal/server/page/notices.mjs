// Notifications of the browser.
import * as model from "./model.mjs";
import { set, store } from "./store.mjs";

const most = 3; // notifications at once: more are one
const told = new Set();

const on = () =>
  typeof Notification !== "undefined" &&
  Notification.permission === "granted" &&
  localStorage.getItem("notify") === "on";

function show(title, body, tag, to) {
  const n = new Notification(title, { body, tag });
  n.onclick = () => {
    focus();
    location.hash = to;
  };
}

// notify tells of each session that has needed somebody for a while, once.
export function notify() {
  if (!on()) return;
  const due = model.due(store.sessions, told, Date.now());
  for (const { key } of due) told.add(key);
  if (due.length > most) {
    const names = due.map((x) => x.session.name).join(", ");
    return show(`${due.length} sessions need you`, names, "agentform", "#/needs");
  }
  for (const { session: s, key } of due) {
    const body = s.question?.text || model.why(s, Date.now()) || s.doing || s.branch;
    show(`${s.name} ${s.needs.reason.replaceAll("_", " ")}`, body, key, model.link(s));
  }
}

// wantNotices turns notifications on, with the permission of the browser, or off.
export async function wantNotices() {
  const yes = localStorage.getItem("notify") !== "on" && (await Notification.requestPermission()) === "granted";
  localStorage.setItem("notify", yes ? "on" : "off");
  const text = "This browser tells you when a session has needed you for 5 seconds.";
  set({ notice: yes ? text : "Notifications are off." });
}
