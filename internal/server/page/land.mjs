// What lands the work of sessions, and brings bases into their branches.
import { html, useEffect, useState } from "/vendor/preact.mjs";
import { ask, of } from "/api.mjs";
import { useDialog } from "/dialog.mjs";
import * as model from "/model.mjs";

// Land shows what landing would do, or why it would not, and does it when told to.
export function Land({ s, close, done }) {
  const [want, setWant] = useState({ method: "merge", commit: "" });
  const [d, setD] = useState(null);
  const [problem, setProblem] = useState("");
  const [landing, setLanding] = useState(false);
  useEffect(() => {
    let over = false;
    setD(null);
    const look = () => ask(`${of(s.address)}/land`, { ...want, dry_run: true }).then((x) => over || (setD(x.result), setProblem("")), (e) => over || setProblem(e.message));
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
      setProblem(e.message);
    }
    setLanding(false);
  };
  return html`<dialog ...${useDialog(close)} aria-label=${`Land ${s.name}`} class="land"><h2>Land ${s.name}</h2>
    <label>Method <select aria-label="method" value=${want.method} onChange=${(e) => setWant({ ...want, method: e.target.value })}>
      <option value="merge">merge</option><option value="squash">squash into one commit</option><option value="rebase">rebase</option><option value="pr">push and open a pull request</option></select></label>
    <label>Message for what is not committed <input value=${want.commit} onInput=${(e) => setWant({ ...want, commit: e.target.value })} placeholder="none: only commits are landed" /></label>
    ${problem ? html`<p role="alert" class="trouble">${problem}</p>` : !d ? html`<p role="status">Looking…</p>` : d.already ? html`<p role="status">${d.base} has all of it already.</p>`
      : html`<div role="status"><p>${d.branch} on ${d.base}:</p><ol>${d.steps.map((x, i) => html`<li key=${i}>${x.detail}</li>`)}</ol></div>`}
    <div class="verbs"><button autofocus onClick=${close}>Cancel</button><button class="yes" disabled=${landing || !d || d.already || problem} onClick=${land}>${landing ? "Landing…" : "Land"}</button></div></dialog>`;
}

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
    ask(`/v1/landing?method=${how.method}&verified=${how.verified}`).then((x) => over || setD(x), (e) => over || setProblem(e.message));
    return () => (over = true);
  }, [how]);
  const change = (x) => (setProblem(""), setHow({ ...how, ...x }));
  const land = async () => {
    setLanding(true);
    setProblem("");
    try {
      const steps = d.steps.map(({ address, tree }) => ({ address, tree }));
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
  const name = (x) => x.address.replace(/^session\./, "");
  return html`<dialog ...${useDialog(close)} aria-label="Land all" class="land all"><h2>Land all</h2>
    <div class="tools"><label>Method <select value=${how.method} disabled=${fixed} onChange=${(e) => change({ method: e.target.value })}>
      <option value="merge">merge</option><option value="squash">squash into one commit each</option><option value="rebase">rebase</option></select></label>
      <label><input type="checkbox" checked=${how.verified} disabled=${fixed} onChange=${(e) => change({ verified: e.target.checked })} /> verified only</label></div>
    ${problem && html`<p role="alert" class="trouble">${problem}</p>`}
    <div role="status">${landing ? "Landing: this may take a while if results are verified." : !d ? problem && !how.tries ? "" : "Looking…" : landed ? model.landed(d) : !d.steps.length && html`<p>Nothing ${d.left_out.length ? "of this can land now" : "to land"}.</p>`}</div>
    ${d && html`<div class="order" tabindex="0" role="region" aria-label="order"><ol>${d.steps.map((x) => html`<li key=${x.address}><b>${name(x)}</b> ${x.commits} ${x.commits === 1 ? "commit" : "commits"} of ${x.branch} on ${x.base}
      <small> tree ${x.tree.slice(0, 7)}</small>${landed && html`<p class=${x.landed ? "landed" : "conflict"}>${model.outcome(x)}</p>`}</li>`)}</ol>
      ${d.left_out.length > 0 && html`<h3>Left out</h3><ul>${d.left_out.map((x) => html`<li key=${x.address}><b>${name(x)}</b> <span>${model.leftOut(x)}</span></li>`)}</ul>`}
      ${d.refreshes.length > 0 && html`<h3>Refreshed</h3><ul>${d.refreshes.map((x) => html`<li key=${x.address}><b>${name(x)}</b> <span>${model.refreshed(x)}</span></li>`)}</ul>`}</div>`}
    <div class="verbs"><button autofocus onClick=${close}>${fixed ? "Close" : "Cancel"}</button>
      ${!landed && html`<button class="yes" disabled=${landing || !d?.steps.length} onClick=${land}>${landing ? "Landing…" : `Land${d?.steps.length ? ` ${d.steps.length}` : ""}`}</button>`}</div></dialog>`;
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
  return html`<button disabled=${disabled || busy} onClick=${refresh}>${busy ? "Refreshing…" : "Refresh"}</button>`;
}
