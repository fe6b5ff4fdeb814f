// The verbs of sessions, of one or of several at once.
import { html } from "./vendor/preact.mjs";
import { ask as request, of } from "./api.mjs";
import { act } from "./act.mjs";
import { Icon } from "./icons.mjs";
import * as model from "./model.mjs";
import { operates, set, store } from "./store.mjs";
import { soon } from "./stream.mjs";

// ask asks before a verb is carried out with sessions. Typing and answering ask nothing.
export function ask(all, v) {
  const [s] = all;
  if (v.name === "answer" || v.name === "send") return set({ dialog: { [v.name]: all.map((x) => x.address) } });
  if (all.length > 1) {
    const title = `${v.label} ${all.length} sessions?`;
    return set({
      dialog: {
        title,
        text: model.asked(all, v),
        yes: `${v.label} ${all.length}`,
        ends: v.ends,
        run: () => many(all, v),
      },
    });
  }
  const one = (done, body) => () => act(done, s.address, v.name, body, `${v.doing} ${s.name}…`);
  if (v.over) {
    const run = one(`Started ${s.name}: its budgets start over.`, { ignore_budget: true });
    const title = `Start ${s.name} over its budget?`;
    return set({ dialog: { title, text: model.again(s, store.now), yes: "Start anyway", run } });
  }
  const run = one(`${s.name} ${v.done}`);
  set({ dialog: { title: `${v.label} ${s.name}?`, text: model.asked(all, v), yes: v.label, ends: v.ends, run } });
}

// many carries out a verb with several sessions, and names those with which it failed.
async function many(all, v) {
  set({ trouble: "", notice: `${v.doing} ${all.length} sessions…` });
  const failed = [];
  let done = 0;
  await Promise.all(
    all.map((s) =>
      request(`${of(s.address)}/${v.name}`, {}).then(
        () => set({ notice: `${++done} of ${all.length} ${v.done}` }),
        (e) => failed.push(`${s.name}: ${e.message}`),
      ),
    ),
  );
  if (failed.length) set({ trouble: failed.join("\n") });
  soon();
}

// Verbs are the buttons of a session, without the verb but. Its answers are below its question instead.
export const Verbs = ({ s, but, children }) =>
  html`<div class="verbs">${children}${model
    .verbs(s)
    .filter((v) => v.name !== "answer" && v.name !== but)
    .map(
      (v) =>
        html`<button key=${v.name} class=${v.ends ? "ends" : ""} disabled=${!operates()} onClick=${() => ask([s], v)}>
          <${Icon} name=${v.icon} />${" "}${v.label}</button>`,
    )}</div>`;

// Bulk has the verbs of the sessions that are selected. all selects those that are shown.
export function Bulk({ sessions, shown, all, clear }) {
  if (!sessions.length) return null;
  const others = shown.some((s) => !sessions.includes(s));
  return html`<div class="tools bulk" role="group" aria-label="selected sessions">
    <b role="status">${sessions.length} selected</b>
    <button class="quiet" onClick=${clear} aria-keyshortcuts="Escape">Clear</button>
    <button class="quiet" disabled=${!others} onClick=${all}>Select all ${shown.length}</button>
    ${model.offered(sessions).map(
      (x, i) =>
        html`<button key=${i} class=${`verb${x.verb.ends ? " ends" : ""}`} disabled=${!operates() || !x.sessions.length}
          onClick=${() => ask(x.sessions, x.verb)}>
          ${x.verb.label}${" "}${x.sessions.length || ""}</button>`,
    )}</div>`;
}
