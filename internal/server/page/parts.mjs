// What several views show.
import { html } from "./vendor/preact.mjs";
import * as model from "./model.mjs";
import { store } from "./store.mjs";

// Word is what a session is and does. text has what belongs behind the word.
export const Word = ({ s, text }) => html`<span class=${`word ${s.tone}`}>${text}</span>`;

// Events lists events, with the day where it changes. Named have the names of their sessions.
export function Events({ events, named }) {
  let last = "";
  return html`<ol class="events">${events.map((e, i) => {
    const day = model.date(e.time);
    const heading = day !== last && html`<li key=${day} class="day">${day}</li>`;
    last = day;
    return html`${heading}<${Event} key=${e.id ?? i} e=${e} named=${named} />`;
  })}</ol>`;
}

const Event = ({ e, named }) =>
  html`<li><time datetime=${e.time}>${model.clock(e.time)}</time>${" "}
    ${named && html`<a href=${model.link(e, "timeline")}>${e.address}</a>${" "}`}
    <span>${model.local(model.line(e), store.now)}</span>
    ${e.excerpt && !named && html`<details><summary>screen</summary><pre>${e.excerpt}</pre></details>`}</li>`;
