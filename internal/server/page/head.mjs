// The head of the page: its views, what all sessions take, and the rest in a sheet where there is no room for it.
import { html, useEffect, useRef } from "./vendor/preact.mjs";
import { useDialog } from "./dialog.mjs";
import { Icon } from "./icons.mjs";
import { operates, set, store } from "./store.mjs";
import { Today } from "./usage.mjs";

const views = [
  ["fleet", "Fleet", "#/"],
  ["wall", "Wall", "#/wall"],
  ["plan", "Plan", "#/plan"],
  ["needs", "Needs", "#/needs"],
  ["report", "Report", "#/report"],
  ["usage", "Usage", "#/usage"],
];

// turn changes between the light and the dark theme.
function turn() {
  const root = document.documentElement;
  const light = root.dataset.theme
    ? root.dataset.theme === "light"
    : !matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = light ? "dark" : "light";
  localStorage.setItem("theme", root.dataset.theme);
}

const help = () => set({ dialog: { help: true } });
const jump = () => set({ dialog: { jump: true } });
const logins = () => set({ dialog: { logins: true } });

// Views are the links of the views. That of the view that is shown is scrolled to.
function Views({ need }) {
  const strip = useRef();
  const { view } = store.route;
  useEffect(() => strip.current.querySelector("[aria-current]")?.scrollIntoView({ inline: "nearest" }), [view]);
  return html`<nav class="views" aria-label="views" ref=${strip}>${views.map(
    ([v, label, to]) =>
      html`<a key=${v} href=${to} aria-current=${view === v ? "page" : undefined}><span>${label}${
        v === "needs" && html`<span class="roomy"> you</span>`
      }</span>
        ${v === "needs" && need > 0 && html`${" "}<span class="badge">${need}</span>`}</a>`,
  )}</nav>`;
}

// Connection says whether events arrive.
function Connection() {
  const live = store.connected;
  return html`<span role="status" class=${`connection ${live ? "on" : "off"}`}>${live ? "live" : "connecting"}</span>`;
}

export const Head = ({ need }) =>
  html`<header><h1>${store.access.project || "agentform"}</h1>
    <${Views} need=${need} /><span class="gap"></span><${Places} /><${Today} /><${Connection} />
    ${!operates() && html`<span class="read-only">read-only</span>`}
    <button class="wide" onClick=${jump} aria-keyshortcuts="Control+K">Jump <kbd>Ctrl-K</kbd></button>
    <button class="quiet middle" onClick=${turn} aria-label="light or dark"><${Icon} name="theme" /></button>
    <button class="quiet middle" onClick=${help} aria-label="keys"><${Icon} name="help" /></button>
    <button class="quiet middle" onClick=${logins} title=${store.access.by}>Logins</button>
    <button class="quiet narrow" onClick=${() => set({ dialog: { more: true } })}>More</button></header>`;

// Places says how many of the places of max_running are taken.
const Places = () =>
  store.places &&
  html`<span class="summary" title="agents that take a place, of max_running">
    ${store.places.running} of ${store.places.max_running} running</span>`;

// More is a sheet with what a narrow head has no room for.
export function More({ close }) {
  const { project } = store.access;
  return html`<dialog ...${useDialog(close)} aria-label="More" class="sheet">
    <h2>${project || "agentform"}</h2>
    <p><${Places} /> <${Today} />${!operates() && html` <span class="read-only">read-only</span>`}</p>
    <div class="choices"><button onClick=${jump}>Jump to a session or view</button>
      <button onClick=${turn}>Light or dark</button>
      <button onClick=${help}>Keys</button>
      <button onClick=${logins}>Logins</button>
      <button autofocus onClick=${close}>Close</button></div></dialog>`;
}
