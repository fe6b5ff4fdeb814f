// What several views show.
import { html } from "./vendor/preact.mjs";
import * as model from "./model.mjs";
import { store } from "./store.mjs";

// Word is what a session is and does. text has what belongs behind the word.
export const Word = ({ s, text }) => html`<span class=${`word ${s.tone}`}>${text}</span>`;

// Since is a choice of spans: what is shown begins with one of them.
export const Since = ({ spans, choose }) =>
  html`<label>since <select onChange=${(e) => choose(e.target.value)}>${spans.map(
    ([span, text]) => html`<option key=${span} value=${span}>${text}</option>`,
  )}</select></label>`;

// Days lists what happened, with the day where it changes. draw returns what is shown of each.
export function Days({ all, draw }) {
  let last = "";
  return html`<ol class="events">${all.map((x) => {
    const day = model.date(x.time);
    const heading = day !== last && html`<li key=${day} class="day">${day}</li>`;
    last = day;
    return html`${heading}<li key=${x.id ?? `${x.time} ${x.text}`}><${Clock} time=${x.time} />${" "}${draw(x)}</li>`;
  })}</ol>`;
}

export const Clock = ({ time }) => html`<time datetime=${time}>${model.clock(time)}</time>`;

// Said is what an event or an operation says, with the times of this clock.
export const Said = ({ text }) => html`<span>${model.local(text, store.now)}</span>`;
