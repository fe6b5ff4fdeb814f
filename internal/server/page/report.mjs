// The report: what became of the sessions since a time.
import { html, useEffect, useState } from "./vendor/preact.mjs";
import { ask } from "./api.mjs";
import * as model from "./model.mjs";
import { Since } from "./parts.mjs";
import { fail } from "./store.mjs";

const spans = [
  ["18", "18 hours ago"],
  ["today", "midnight"],
  ["48", "2 days ago"],
  ["168", "7 days ago"],
];
const titles = ["Session", "Status", "Result", "Cost", "Waited", "Restarts", "Asked"];

function Row({ x }) {
  const pull = /^https?:/.test(x.pr_url) ? x.pr_url : undefined;
  return html`<tr><th scope="row">${x.removed_at ? x.name : html`<a href=${model.link(x)}>${x.name}</a>`}</th>
    <td>${x.word}</td>
    <td>${model.result(x)}${x.pr_url && html`${" "}<a href=${pull} rel="noreferrer">pull request</a>`}</td>
    <td title=${model.priced(x.usage)}>${model.cost(x.usage)}</td><td data-title="waited">${model.waited(x)}</td>
    <td data-title="restarts">${x.restarts || ""}</td><td data-title="asked">${x.asked}</td></tr>`;
}

const bare = (address) => address.replace(/^session\./, "");

function Need({ n }) {
  return html`<li><a href=${model.link(n)}>${n.name}</a>${` ${n.text}`}
    ${n.detail && `: ${n.detail}`}</li>`;
}

export function Report() {
  const [since, setSince] = useState(() => model.begin(spans[0][0], Date.now()));
  const [r, setR] = useState(null);
  useEffect(() => {
    let over = false;
    ask(`/v1/report?since=${since}`).then(
      (x) => over || setR(x),
      (e) => over || fail(e),
    );
    return () => (over = true);
  }, [since]);
  return html`<section class="report" aria-label="report"><div class="tools"><h2>Report</h2>
      <${Since} spans=${spans} choose=${(span) => setSince(model.begin(span, Date.now()))} />
      <span role="status">${r ? model.headline(r) : "Reading…"}</span></div>
    ${
      r?.sessions.length > 0 &&
      html`<div class="scrolls" tabindex="0" role="region" aria-label="sessions"><table>
        <thead><tr>${titles.map((t) => html`<th key=${t} scope="col">${t}</th>`)}</tr></thead>
        <tbody>${r.sessions.map((x, i) => html`<${Row} key=${i} x=${x} />`)}</tbody></table></div>`
    }
    ${r?.needs.length > 0 && html`<h3>Needs attention</h3>`}
    <ol>${r?.needs.map((n) => html`<${Need} key=${n.address} n=${n} />`)}</ol>
    ${r?.quiet.length > 0 && html`<p>Nothing happened in ${r.quiet.map(bare).join(", ")}.</p>`}
    ${r?.unknown.map((text) => html`<p key=${text} class="hold">${text}</p>`)}</section>`;
}
