// The timeline of a session: an operation a line, whose steps and screens fold out.
import { html } from "../vendor/preact.mjs";
import { of } from "../api.mjs";
import * as model from "../model.mjs";
import { Clock, Days, Said } from "../parts.mjs";
import { useDocument } from "./document.mjs";

const Screen = ({ e }) => e.excerpt && html`<pre>${e.excerpt}</pre>`;

const Step = ({ e }) => html`<li><${Clock} time=${e.time} />${" "}<${Said} text=${e.text} /><${Screen} e=${e} /></li>`;

function entry(x) {
  const said = html`<${Said} text=${x.text} />`;
  const [first, ...others] = x.events;
  if (!others.length && !first.excerpt) return said;
  const steps = others.length
    ? html`<ol class="steps">${x.events.map((e, i) => html`<${Step} key=${i} e=${e} />`)}</ol>`
    : html`<${Screen} e=${first} />`;
  return html`<details><summary>${said}</summary>${steps}</details>`;
}

export function Timeline({ s }) {
  const [d, problem] = useDocument(`${of(s.address)}?events=200`, s);
  return html`<div class="scrolls" tabindex="0" role="region" aria-label="timeline">
    ${problem && html`<p role="alert">${problem}</p>`}
    ${d && html`<${Days} all=${model.timeline(d)} draw=${entry} />`}</div>`;
}
