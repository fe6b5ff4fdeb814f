// What lands the work of all sessions, in an order that is shown first.
import { html, useEffect, useState } from "./vendor/preact.mjs";
import { ask } from "./api.mjs";
import { useDialog } from "./dialog.mjs";
import * as model from "./model.mjs";
import { set, store } from "./store.mjs";

// LandAll shows in which order work would land and what would not, and lands it as it was shown.
export function LandAll({ close, done }) {
  const [how, setHow] = useState({ method: "merge", verified: false, tries: 0 });
  const [d, setD] = useState(null); // the order, and then what became of it
  const [problem, setProblem] = useState("");
  const [landing, setLanding] = useState(false);
  const landed = d && !d.dry_run;
  useEffect(() => {
    let over = false;
    setD(null);
    ask(`/v1/landing?method=${how.method}&verified=${how.verified}`).then(
      (x) => over || setD(x),
      (e) => over || setProblem(e.message),
    );
    return () => (over = true);
  }, [how]);
  const change = (x) => (setProblem(""), setHow({ ...how, ...x }));
  const land = async () => {
    setLanding(true);
    setProblem("");
    try {
      const steps = d.steps.map(({ address, tree, base }) => ({ address, tree, base }));
      const result = await ask("/v1/landing", { steps, method: how.method, verified: how.verified });
      setD(result);
      done(model.landed(result));
    } catch (e) {
      setProblem(e.message);
      setHow({ ...how, tries: how.tries + 1 }); // the order may be another one now
    }
    setLanding(false);
  };
  const fixed = landing || landed;
  return html`<dialog ...${useDialog(close)} aria-label="Land all" class="land all"><h2>Land all</h2>
    <div class="tools"><label>Method <select value=${how.method} disabled=${fixed}
        onChange=${(e) => change({ method: e.target.value })}>
        <option value="merge">merge</option><option value="squash">squash into one commit each</option>
        <option value="rebase">rebase</option></select></label>
      <label><input type="checkbox" checked=${how.verified} disabled=${fixed}
        onChange=${(e) => change({ verified: e.target.checked })} />${" "}verified only</label></div>
    ${problem && html`<p role="alert" class="trouble">${problem}</p>`}
    <div role="status">${says(d, landing, landed, problem && !how.tries)}</div>
    ${d && html`<${Order} d=${d} landed=${landed} />`}
    <div class="verbs"><button autofocus onClick=${close}>${fixed ? "Close" : "Cancel"}</button>
      ${
        !landed &&
        html`<button class="primary" disabled=${landing || !d?.steps.length} onClick=${land}>
          ${landing ? "Landing…" : `Land${d?.steps.length ? ` ${d.steps.length}` : ""}`}</button>`
      }</div></dialog>`;
}

// says is what the order is at: d is not there yet, or what became of it.
function says(d, landing, landed, refused) {
  if (landing) return "Landing: this may take a while if results are verified.";
  if (!d) return refused ? "" : "Looking…";
  if (landed) return model.landed(d);
  return !d.steps.length && html`<p>Nothing ${d.left_out.length ? "of this can land now" : "to land"}.</p>`;
}

const name = (x) => x.address.replace(/^session\./, "");

function Step({ x, landed }) {
  const commits = `${x.commits} ${x.commits === 1 ? "commit" : "commits"} of ${x.branch} on ${x.base}`;
  return html`<li><b>${name(x)}</b>${` ${commits}`}<small>${` tree ${x.tree.slice(0, 7)}`}</small>
    ${landed && html`<p class=${x.landed ? "landed" : "conflict"}>${model.outcome(x)}</p>`}</li>`;
}

// Left is why a session does not land. What is not committed is landed alone, with a message.
function Left({ x }) {
  const s = store.sessions.find((y) => y.address === x.address);
  if (!x.unsaved || !s) return html`<${Said} x=${x} text=${model.leftOut(x)} />`;
  const alone = () => set({ dialog: { land: s } });
  return html`<li><b>${name(x)}</b>${" "}<span>has ${x.unsaved}:</span>${" "}
    <button class="quiet" aria-label=${`Land ${name(x)}`} onClick=${alone}>Land it with a message…</button></li>`;
}

const Said = ({ x, text }) => html`<li><b>${name(x)}</b>${" "}<span>${text}</span></li>`;

function Order({ d, landed }) {
  return html`<div class="order" tabindex="0" role="region" aria-label="order">
    <ol>${d.steps.map((x) => html`<${Step} key=${x.address} x=${x} landed=${landed} />`)}</ol>
    ${d.left_out.length > 0 && html`<h3>Left out</h3>`}
    <ul>${d.left_out.map((x) => html`<${Left} key=${x.address} x=${x} />`)}</ul>
    ${d.refreshes.length > 0 && html`<h3>Refreshed</h3>`}
    <ul>${d.refreshes.map((x) => html`<${Said} key=${x.address} x=${x} text=${model.refreshed(x)} />`)}</ul></div>`;
}
