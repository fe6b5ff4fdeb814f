// The usage: what sessions, agents and models took, by day, and what is used of budgets.
import { html, useEffect, useState } from "./vendor/preact.mjs";
import { ask } from "./api.mjs";
import * as model from "./model.mjs";
import { Since } from "./parts.mjs";
import { fail } from "./store.mjs";

const ways = ["session", "agent", "model", "day"];
const titles = ["Name", "Tokens", "", "Answers", "Cost"]; // those with a name but the first are of numbers
const minute = 60000; // ms until the documents are asked for again

const spans = [
  ["", "the first use"],
  ["today", "midnight"],
  ["168", "7 days ago"],
  ["720", "30 days ago"],
];

// useUsage asks for usage by something since the beginning of a span, and every minute again.
function useUsage(by, span, failed) {
  const [d, setD] = useState(null);
  useEffect(() => {
    let over = false;
    const look = () => {
      const since = model.begin(span, Date.now());
      ask(`/v1/usage?by=${by}${since && `&since=${since}`}`).then(
        (x) => over || setD(x),
        (e) => over || failed?.(e),
      );
    };
    look();
    const timer = setInterval(look, minute);
    return () => {
      over = true;
      clearInterval(timer);
    };
  }, [by, span]);
  return d?.by === by ? d : null;
}

// Today is what was used today, for the head of the page.
export function Today() {
  const total = useUsage("agent", "today")?.total;
  if (!total?.total) return null;
  const [cost, tokens] = [model.cost(total), `${model.number(total.total)} tokens`];
  return html`<a class="summary" href="#/usage" title=${model.used(total)}>today ${cost || tokens}${
    cost && html`<span class="middle"> · ${tokens}</span>`
  }</a>`;
}

// Bar shows a share. What is over one is full, and said in words next to it.
const Bar = ({ share, name, over }) =>
  html`<meter class=${over ? "over" : ""} min="0" max="1" value=${Math.min(1, share)} aria-label=${name}></meter>`;

function Row({ x, most }) {
  return html`<tr><th scope="row">${x.name.replace(/^session\./, "")}</th>
    <td class="c-number" title=${model.used(x)}>${model.number(x.total)}</td>
    <td><${Bar} share=${most ? x.total / most : 0} name=${`share of ${x.name}`} /></td>
    <td class="c-number">${x.answers}</td>
    <td class="c-number" title=${model.priced(x)}>${model.cost(x)}</td></tr>`;
}

function Budget({ b }) {
  const name = b.session ? `${b.name} of ${b.session.replace(/^session\./, "")}` : b.name;
  const percent = Math.round(100 * b.share);
  return html`<li><b>${name}</b>${" "}<${Bar} share=${b.share} name=${`used of ${name}`} over=${b.share >= 1} />
    ${` ${percent} %: ${b.text}`}</li>`;
}

export function Usage() {
  const [by, setBy] = useState(ways[0]);
  const [span, setSpan] = useState("");
  const d = useUsage(by, span, fail);
  const most = Math.max(0, ...(d?.usage ?? []).map((x) => x.total));
  return html`<section class="usage" aria-label="usage"><div class="tools"><h2>Usage</h2>
      <label>by <select value=${by} onChange=${(e) => setBy(e.target.value)}>${ways.map(
        (w) => html`<option key=${w} value=${w}>${w}</option>`,
      )}</select></label>
      <${Since} spans=${spans} choose=${setSpan} />
      <span role="status" title=${d && model.used(d.total)}>
        ${d ? `${model.number(d.total.total)} tokens` : "Reading…"}</span>
      <span class="gap"></span>
      ${d && html`<b title=${model.priced(d.total)}>${model.cost(d.total)}</b>`}${" "}
      ${d && html`<small>list prices of ${d.prices}</small>`}</div>
    ${d?.budgets.length > 0 && html`<h3>Budgets</h3>`}
    <ul>${d?.budgets.map((b) => html`<${Budget} key=${`${b.name} ${b.session}`} b=${b} />`)}</ul>
    ${d && !d.usage.length && html`<p class="empty">No agent has said yet what it used.</p>`}
    ${
      d?.usage.length > 0 &&
      html`<div class="scrolls" tabindex="0" role="region" aria-label="rows"><table>
        <thead><tr>${titles.map(
          (t, i) => html`<th key=${t} scope="col" class=${i && t ? "c-number" : ""}>${t}</th>`,
        )}</tr></thead>
        <tbody>${d.usage.map((x) => html`<${Row} key=${x.name} x=${x} most=${most} />`)}</tbody></table></div>`
    }
    ${d?.unpriced_models.length > 0 && html`<p>Without a price: ${d.unpriced_models.join(", ")}.</p>`}</section>`;
}
