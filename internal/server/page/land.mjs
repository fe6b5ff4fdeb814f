// What lands the work of a session, and brings its base into its branch.
import { html, useEffect, useState } from "./vendor/preact.mjs";
import { act } from "./act.mjs";
import { ask, of } from "./api.mjs";
import { useDialog } from "./dialog.mjs";
import * as model from "./model.mjs";
import { set } from "./store.mjs";

// Land shows what landing would do, or why it would not, and does it when told to.
export function Land({ s, close, done }) {
  const [want, setWant] = useState({ method: "merge", commit: "" });
  const [d, setD] = useState(null);
  const [problem, setProblem] = useState(null);
  const [landing, setLanding] = useState(false);
  useEffect(() => {
    let over = false;
    setD(null);
    const look = () =>
      ask(`${of(s.address)}/land`, { ...want, dry_run: true }).then(
        (x) => over || (setD(x.result), setProblem(null)),
        (e) => over || setProblem(e),
      );
    const typed = setTimeout(look, want.commit ? 300 : 0);
    return () => (clearTimeout(typed), (over = true));
  }, [want.method, want.commit]);
  const land = async () => {
    setLanding(true);
    try {
      const { result: r } = await ask(`${of(s.address)}/land`, want);
      close();
      done(r.url ? `${r.branch} is pushed: ${r.url}` : `${r.branch} is landed on ${r.base}.`);
    } catch (e) {
      setProblem(e);
    }
    setLanding(false);
  };
  const blocked = landing || !d || d.already || problem;
  return html`<dialog ...${useDialog(close)} aria-label=${`Land ${s.name}`} class="land"><h2>Land ${s.name}</h2>
    <label>Method <select aria-label="method" value=${want.method}
      onChange=${(e) => setWant({ ...want, method: e.target.value })}>
      <option value="merge">merge</option><option value="squash">squash into one commit</option>
      <option value="rebase">rebase</option><option value="pr">push and open a pull request</option></select></label>
    <label>Message for what is not committed <input value=${want.commit}
      onInput=${(e) => setWant({ ...want, commit: e.target.value })} /></label>
    ${problem ? html`<${Trouble} e=${problem} s=${s} close=${close} />` : html`<${Foreseen} d=${d} />`}
    <div class="verbs"><button autofocus onClick=${close}>Cancel</button>
      <button class="primary" disabled=${blocked} onClick=${land}>
        ${landing ? "Landing…" : "Land"}</button></div></dialog>`;
}

// Trouble is why nothing lands, with a message that asks the agent to mend it.
function Trouble({ e, s, close }) {
  if (e.unsaved) return html`<p role="alert" class="trouble">${model.unsaved(e.unsaved)}</p>`;
  if (!e.send) return html`<p role="alert" class="trouble">${e.said ?? e.message}<${Next} text=${e.next} /></p>`;
  const send = async () => (await act(`Sent to ${s.name}`, s.address, "send", { text: e.send })) && close();
  return html`<div role="alert"><p class="trouble">${e.said}</p>
    <div class="verbs"><q>${e.send}</q><button onClick=${send}>Send this to the agent</button></div></div>`;
}

// Next is what to do on a command line.
const Next = ({ text }) => text && html`<br /><code>${text}</code>`;

// Foreseen is what landing would do.
function Foreseen({ d }) {
  if (!d) return html`<p role="status">Looking…</p>`;
  if (d.already) return html`<p role="status">${d.base} has all of it already.</p>`;
  return html`<div role="status"><p>${d.branch} on ${d.base}:</p>
    <ol>${d.steps.map((x, i) => html`<li key=${i}>${x.detail}</li>`)}</ol></div>`;
}

// Refresh brings the base of a session into its branch.
export function Refresh({ s, disabled, began, done, failed }) {
  const [busy, setBusy] = useState(false);
  const refresh = async () => {
    setBusy(true);
    began();
    try {
      done(model.refreshed((await ask(`${of(s.address)}/refresh`, {})).refreshes[0]));
    } catch (e) {
      failed(e);
    }
    setBusy(false);
  };
  const title = `Refresh the branch of ${s.name}?`;
  const confirm = async () => {
    setBusy(true);
    const text = await ask(`${of(s.address)}/refresh`, { dry_run: true }).then(
      (d) => model.refreshing(d.refreshes[0]),
      (e) => model.unrefreshed(e.said ?? e.message),
    );
    setBusy(false);
    set({ dialog: { title, text, yes: "Refresh", run: refresh } });
  };
  return html`<button disabled=${disabled || busy} onClick=${confirm}>
    ${busy ? "Refreshing…" : "Refresh branch…"}</button>`;
}
