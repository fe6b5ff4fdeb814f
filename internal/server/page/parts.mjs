// What several views show.
import { html, useState } from "./vendor/preact.mjs";
import * as model from "./model.mjs";
import { me, store } from "./store.mjs";

// Word is what a session is and does. text has what belongs behind the word.
export const Word = ({ s, text }) => html`<span class=${`word ${s.tone}`}>${text}</span>`;

// Since is a choice of spans: what is shown begins with one of them.
export const Since = ({ spans, choose }) =>
  html`<label>since <select onChange=${(e) => choose(e.target.value)}>${spans.map(
    ([span, text]) => html`<option key=${span} value=${span}>${text}</option>`,
  )}</select></label>`;

let pressed = null; // the last mousedown

// opens returns handlers with which a click anywhere on an element opens a session, with Ctrl or the middle button in a
// new tab. Links and buttons in it keep their clicks, and dragging selects its text.
export function opens(s) {
  const press = (e) => (pressed = e);
  const go = (e) => {
    const dragged = Math.hypot(e.clientX - pressed?.clientX, e.clientY - pressed?.clientY) > 4; // px
    if (dragged || e.target.closest("a, button, label, input, .answers")) return;
    if (e.ctrlKey || e.metaKey || e.button === 1) window.open(model.link(s), "_blank", "noopener");
    else if (e.button === 0) location.hash = model.link(s);
  };
  return { onMouseDown: press, onClick: go, onAuxClick: go };
}

// Told is a text, in which a command line looks like one.
export function Told({ text, command }) {
  if (!command || !text.includes(command)) return html`<span>${text}</span>`;
  const at = text.indexOf(command);
  return html`<span>${text.slice(0, at)}<code>${command}</code>${text.slice(at + command.length)}</span>`;
}

// Remedy is what to do about a session where none of its verbs does it.
export function Remedy({ s }) {
  const [copied, setCopied] = useState({ command: "", width: 0 }); // the width of the button then, which it keeps
  if (!s.remedy || s.remedy.action || s.question) return null;
  const { text, command } = s.remedy;
  const copy = async (e) => {
    const { width } = e.currentTarget.getBoundingClientRect();
    await navigator.clipboard.writeText(command);
    setCopied({ command, width });
  };
  const style = { minWidth: copied.width ? `${copied.width}px` : "" };
  return html`<p class="remedy"><${Told} text=${text} command=${command} />${" "}
    ${
      navigator.clipboard &&
      command &&
      html`<button style=${style} onClick=${copy}>
        ${copied.command === command ? "Copied" : "Copy the command"}</button>`
    }</p>`;
}

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
export const Said = ({ text }) => html`<span>${model.local(text, store.now, me())}</span>`;
