// Notifications of the browser.
import * as model from "./model.mjs";
import { set, store } from "./store.mjs";

const most = 3; // notifications at once: more are one
const told = new Set();

// notices reports whether notifications are on.
export const notices = () =>
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
  if (!notices()) return;
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

// denied is why the browser shows no notifications of this page, and where that is changed.
function denied() {
  if (!isSecureContext) return "Notifications are off: browsers show them only of pages by HTTPS, or of this machine.";
  if (Notification.permission === "default") return "Notifications are off: the browser was not given the permission.";
  return "Notifications are off: the browser denies them. Its settings of this site allow them.";
}

// wantNotices turns notifications on, with the permission of the browser, or off.
export async function wantNotices() {
  const wanted = !notices();
  const granted = wanted && (await Notification.requestPermission()) === "granted";
  localStorage.setItem("notify", granted ? "on" : "off");
  if (wanted && !granted) return set({ trouble: denied(), notice: "" });
  const text = "This browser tells you when a session has needed you for 5 seconds.";
  set({ trouble: "", notice: granted ? text : "Notifications are off." });
}
