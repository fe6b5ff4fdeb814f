// The page: its head, and the view that is chosen.
import { html, render, useState } from "./vendor/preact.mjs";
import { Dialog } from "./dialogs.mjs";
import { Fleet } from "./fleet.mjs";
import { Head } from "./head.mjs";
import { press } from "./keys.mjs";
import { Door, enter } from "./login.mjs";
import * as model from "./model.mjs";
import { Needs } from "./needs.mjs";
import { notify } from "./notices.mjs";
import { Plan } from "./plan.mjs";
import { Report } from "./report.mjs";
import { Session } from "./session/session.mjs";
import { drawnBy, set, store } from "./store.mjs";
import { Usage } from "./usage.mjs";
import { Wall } from "./wall.mjs";

// Unwell says why the hub is not well. When it does not answer at all, that is said instead.
const Unwell = () =>
  store.hubFault &&
  !store.away &&
  html`<p class="away" role="alert">The hub is not well: ${model.local(store.hubFault, store.now)}</p>`;

// Away says that the hub does not answer, and when it is asked again.
const Away = () =>
  store.away &&
  html`<p class="away" role="alert">The hub has not answered since ${model.clock(store.away.since)}: next try in
    ${` ${Math.max(0, Math.ceil((store.away.next - store.now) / 1000))} s.`}</p>`;

const views = { plan: Plan, needs: Needs, report: Report, usage: Usage, fleet: Fleet, wall: Wall };

function App() {
  const [, count] = useState(0);
  drawnBy(() => count((n) => n + 1));
  if (!store.access && !store.loaded) return html`<header><h1>agentform</h1></header><main aria-busy="true"></main>`;
  if (!store.access) return html`<main><${Door} /></main>`;
  const r = store.route;
  const need = store.sessions.filter((s) => s.needs).length;
  const { project } = store.access;
  const shown = store.sessions.find((s) => s.address === r.address)?.name;
  document.title = `${need ? `(${need}) ` : ""}${[shown, project, "agentform"].filter(Boolean).join(" · ")}`;
  document.getElementById("icon").href = `/icon.svg?needs=${need}`;
  const View = views[r.view];
  return html`<${Head} need=${need} /><${Away} /><${Unwell} />
    <main class=${store.away ? "is-away" : ""}>
      ${
        store.trouble &&
        html`<p class="trouble" role="alert">${store.trouble}${" "}
          <button onClick=${() => set({ trouble: "" })}>Dismiss</button></p>`
      }
      <p class="notice" role="status">${store.notice}</p>
      ${View ? html`<${View} />` : html`<${Session} key=${r.address} address=${r.address} tab=${r.tab} />`}</main>
    <${Dialog} />`;
}

addEventListener("keydown", press);
addEventListener("hashchange", () =>
  location.hash.startsWith("#login=") ? enter() : set({ route: model.route(location.hash), trouble: "", notice: "" }),
);
let said = { notice: "", at: 0 };
const shownFor = 10e3; // ms of a notice
setInterval(() => {
  const now = Date.now();
  if (said.notice !== store.notice) said = { notice: store.notice, at: now };
  set({ now, notice: now - said.at < shownFor ? store.notice : "" });
}, 1000);
setInterval(notify, 1000);
const theme = localStorage.getItem("theme");
if (theme) document.documentElement.dataset.theme = theme;
document.getElementById("page").replaceChildren(); // what was shown until now
render(html`<${App} />`, document.getElementById("page"));
enter();
