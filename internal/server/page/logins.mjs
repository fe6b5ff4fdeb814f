// The browsers that are logged in, and what ends their logins.
import { html, useEffect, useRef, useState } from "./vendor/preact.mjs";
import { ask } from "./api.mjs";
import { useDialog } from "./dialog.mjs";
import { leave } from "./login.mjs";
import * as model from "./model.mjs";
import { operates, store } from "./store.mjs";

function Entry({ x, end }) {
  const used = x.own ? "this browser" : `used ${model.span(store.now - Date.parse(x.used))} ago`;
  const facts = [x.scope, used, `since ${model.day(x.since, store.now)}`, `ends ${model.day(x.until, store.now)}`];
  return html`<li aria-current=${x.own ? "true" : undefined}>
    <div><b>${x.name}</b><small>${facts.join(" · ")}</small></div>
    ${
      x.own
        ? html`<button onClick=${leave}>Log out</button>`
        : operates() && html`<button aria-label=${`End ${x.name}`} onClick=${() => end(x)}>End</button>`
    }</li>`;
}

// Logins lists the open logins. One that only reads sees its own.
export function Logins({ close }) {
  const [d, setD] = useState(null);
  const [said, setSaid] = useState("");
  const [problem, setProblem] = useState("");
  const last = useRef(); // the button that stays when a login has left the list
  const look = () => ask("/v1/logins").then(setD, (e) => setProblem(e.message));
  useEffect(() => void look(), []);
  const end = async (x) => {
    try {
      setD(await ask(`/v1/logins/${x.id}/end`, {}));
      setSaid(`${x.name} is logged out.`);
      setProblem("");
    } catch (e) {
      setProblem(e.message);
      await look(); // it may have ended nevertheless
    }
    last.current?.focus();
  };
  const alert = problem || (d?.problem && `A login that is ended is valid again when the hub restarts: ${d.problem}`);
  return html`<dialog ...${useDialog(close)} aria-label="Logins" class="logins"><h2>Logins</h2>
    ${alert && html`<p role="alert" class="trouble">${alert}</p>`}
    <p role="status">${d ? said : "Reading…"}</p>
    <ul class="scrolls" tabindex="0" role="list" aria-label="logins">${d?.logins.map(
      (x) => html`<${Entry} key=${x.id} x=${x} end=${end} />`,
    )}</ul>
    <div class="verbs"><button autofocus ref=${last} onClick=${close}>Close</button></div></dialog>`;
}
