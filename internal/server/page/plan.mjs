// The plan: what the hub is about to do, drift, and what happened.
import { html } from "./vendor/preact.mjs";
import * as model from "./model.mjs";
import { Days, Said, Told } from "./parts.mjs";
import { me, store } from "./store.mjs";

const symbols = {
  create: "+",
  update: "~",
  restart: "↻",
  replace: "±",
  delete: "-",
  adopt: ">",
  forget: ".",
  hold: "…",
};
const symbol = (action) => symbols[action] ?? "‖"; // as agentform plan

function Field({ f }) {
  const after = f.sensitive ? "sensitive" : JSON.stringify(f.after);
  return html`<p class="field">${f.path}:${" "}<del>${JSON.stringify(f.before)}</del> → <ins>${after}</ins></p>`;
}

const few = 6; // fields that are shown at once

function Fields({ all }) {
  const list = all.map((f) => html`<${Field} key=${f.path} f=${f} />`);
  if (all.length <= few) return list;
  return html`<details><summary>${all.length} fields</summary>${list}</details>`;
}

function Change({ c }) {
  const detail = model.local(c.detail || c.reason.replaceAll("_", " "), store.now, me());
  return html`<li class=${c.action}><span class="symbol" aria-hidden="true">${symbol(c.action)}</span>
    <div><a href=${model.link(c)}>${c.address}</a>${" "}<b>${c.action}</b>${" "}<span>${detail}</span>
      ${
        c.until &&
        html`<p class="hold">held until ${model.day(c.until, store.now)}, in${" "}
          <b>${model.countdown(Date.parse(c.until) - store.now)}</b></p>`
      }
      <${Fields} all=${c.fields} /></div></li>`;
}

function Drift({ d }) {
  const { remedy } = store.sessions.find((s) => s.address === d.address) ?? {};
  return html`<li><span class="symbol" aria-hidden="true">≠</span><div><a href=${model.link(d)}>${d.address}</a>${" "}
    <b>${d.kind.replaceAll("_", " ")}</b>${" "}<${Told} text=${d.detail} command=${remedy?.command} /></div></li>`;
}

const Problem = ({ d }) =>
  html`<li><span class="symbol" aria-hidden="true">!</span><div><b>${d.summary}</b>${" "}${d.detail}</div></li>`;

const event = (e) => html`<a href=${model.link(e, "timeline")}>${e.address}</a>${" "}<${Said} text=${e.text} />`;

export function Plan() {
  const p = store.plan;
  if (!p) return html`<section><p role="status">Reading the plan…</p></section>`;
  const { drift, problems } = model.differing(p);
  return html`<section class="plan" aria-label="plan"><h2>What the hub is about to do</h2>
    ${!p.changes.length && html`<p>Nothing: every session is as it was applied.</p>`}
    <ul>${p.changes.map((c) => html`<${Change} key=${c.address} c=${c} />`)}</ul>
    <h2>Drift</h2>
    ${!drift.length && html`<p>None: what runs is what was applied.</p>`}
    <ul>${drift.map((d, i) => html`<${Drift} key=${i} d=${d} />`)}</ul>
    ${problems.length > 0 && html`<h2>Problems</h2>`}
    <ul>${problems.map((d, i) => html`<${Problem} key=${i} d=${d} />`)}</ul>
    <h2>Events</h2>
    ${!store.events.length && html`<p>None in the last hour.</p>`}
    <${Days} all=${model.youngest(store.events)} draw=${event} /></section>`;
}
