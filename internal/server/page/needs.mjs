// What needs a person: a card for each session, in order of weight.
import { html } from "./vendor/preact.mjs";
import { Answers, Keys, Send, answer } from "./act.mjs";
import { of } from "./api.mjs";
import * as model from "./model.mjs";
import { wantNotices } from "./notices.mjs";
import { Word } from "./parts.mjs";
import { useDocument } from "./session/document.mjs";
import { operates, redraw, store } from "./store.mjs";
import { Verbs } from "./verbs.mjs";

const screenLines = 12; // of the end of a screen, above the question
const screens = 12; // cards that have one
const answeredFor = 5000; // ms that an answered card stays
let at = 0; // the current card

const needy = () => store.sessions.filter((s) => s.needs);

function Screen({ s }) {
  const [d] = useDocument(`${of(s.address)}/data`, s);
  const text = model.lastLines(d?.screen.text ?? "", screenLines);
  return text && html`<pre class="screen" tabindex="0" role="region" aria-label=${`screen of ${s.name}`}>${text}</pre>`;
}

function Card({ s, current, withScreen }) {
  const blind = s.activity === "blocked" && !s.question;
  return html`<article key=${s.address} class=${current ? "current" : ""} aria-current=${current ? "true" : undefined}>
    <h3><a href=${model.link(s)}>${s.name}</a>${" "}<${Word} s=${s} text=${model.text(s, store.now)} />
      <small>${` ${model.need(s, store.now)}`}</small></h3>
    ${withScreen && html`<${Screen} s=${s} />`}
    <p class="asked">${s.question?.text ?? model.why(s, store.now)}</p>
    <${Answers} s=${s} numbered=${current} />
    ${blind && html`<${Keys} s=${s} />`}
    ${s.remedy && !s.question && html`<p class="remedy">${s.remedy.text}</p>`}
    ${!s.question && s.actions.includes("send") && s.needs.reason === "turn_ended" && html`<${Send} sessions=${[s]} />`}
    ${!s.question && html`<${Verbs} s=${s} />`}</article>`;
}

export function Needs() {
  const all = needy();
  at = Math.min(at, Math.max(0, all.length - 1));
  const answered = store.answered.filter(
    (x) => store.now - x.at < answeredFor && !all.some((s) => s.address === x.address),
  );
  return html`<section class="needs" aria-label="needs you"><div class="tools"><h2>Needs you</h2>
    ${
      typeof Notification !== "undefined" &&
      html`<button onClick=${wantNotices} aria-pressed=${localStorage.getItem("notify") === "on"}>Notify me</button>`
    }</div>
    ${!all.length && html`<p class="empty" role="status">Nothing needs you.</p>`}
    ${answered.map((x) => html`<p key=${x.address} class="answered">Answered ${x.name}: ${x.said}</p>`)}
    <div class="cards">${all.map(
      (s, i) => html`<${Card} key=${s.address} s=${s} current=${i === at} withScreen=${i < screens} />`,
    )}</div></section>`;
}

// press does what a key of this view does, and reports whether there is one.
export function press(key) {
  const all = needy();
  const s = all[at];
  if (key === "j" || key === "k") {
    at = Math.max(0, Math.min(all.length - 1, at + (key === "j" ? 1 : -1)));
    redraw();
    document.querySelectorAll(".cards article")[at]?.scrollIntoView({ block: "nearest" });
  } else if (key === "Enter" && s) location.hash = model.link(s);
  else if (s?.question && operates() && model.answers(s.question)[Number(key) - 1]) {
    const o = model.answers(s.question)[Number(key) - 1];
    answer(s, o.answer, o.label);
  } else return false;
  return true;
}
