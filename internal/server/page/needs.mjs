// What needs a person: a card for each session, in order of weight.
import { html, useEffect, useRef } from "./vendor/preact.mjs";
import { Answers, Keys, Send, answer } from "./act.mjs";
import { of } from "./api.mjs";
import * as model from "./model.mjs";
import { notices, wantNotices } from "./notices.mjs";
import { Remedy, Word } from "./parts.mjs";
import { useDocument } from "./session/document.mjs";
import { me, operates, redraw, set, store } from "./store.mjs";
import { Verbs } from "./verbs.mjs";

const screenLines = 12; // of the end of a screen, above the question
const screens = 12; // cards that have one
const answeredFor = 5000; // ms that an answered card stays
let at = 0; // the place of the current card
let current = ""; // the address of its session
let listed = []; // the sessions that have a card

// held reports whether someone is about to click or type in a card. A touch leaves its hover behind.
const held = () =>
  document.querySelector(`.cards :focus:not(article)${matchMedia("(hover: hover)").matches ? ", .cards:hover" : ""}`);

const given = (s) => store.answered.find((x) => x.address === s.address);

// fresh reports whether a session was answered a moment ago, and asks nothing else.
function fresh(s) {
  const x = given(s);
  return x && store.now - x.at < answeredFor && (!s.question || s.question.id === x.question);
}

// list lists the sessions that have a card now.
function list() {
  const stays = (s) => held() || fresh(s);
  const needy = store.sessions.filter((s) => s.needs && !fresh(s));
  const before = listed.map((s) => store.sessions.find((x) => x.address === s.address) ?? s);
  listed = model.cards(before, needy, stays, Boolean(held()));
  const same = listed.findIndex((s) => s.address === current);
  at = same < 0 ? Math.min(at, Math.max(0, listed.length - 1)) : same;
  current = listed[at]?.address;
  return listed;
}

function Screen({ s }) {
  const [d] = useDocument(`${of(s.address)}/data`, s);
  const text = model.lastLines(d?.screen.text ?? "", screenLines);
  return text && html`<pre class="screen" tabindex="0" role="region" aria-label=${`screen of ${s.name}`}>${text}</pre>`;
}

// moves reports whether someone is about to click or type at a card or below it, which would move if it got smaller.
// A finger is on the screen or not: after a touch a card keeps its height as long as it stays.
function moves(place, s) {
  if (!matchMedia("(hover: hover)").matches) return !s.needs || Boolean(held());
  const at = held() && document.querySelector(".cards > :hover, .cards > :focus-within");
  return Boolean(held() && !(at && at.compareDocumentPosition(place) & Node.DOCUMENT_POSITION_FOLLOWING));
}

// Card keeps its place while what is below must not move, also when it has become small.
function Card({ s, current, withScreen }) {
  const ref = useRef();
  const height = useRef(0);
  const keeps = ref.current && moves(ref.current, s);
  useEffect(() => void (keeps || (height.current = ref.current.getBoundingClientRect().height)));
  const style = { minHeight: keeps ? `${height.current}px` : "" };
  return html`<div ref=${ref} style=${style}><article tabindex="-1" aria-label=${s.name}
    class=${current ? "current" : ""} aria-current=${current ? "true" : undefined}>
    <h3><a href=${model.link(s)}>${s.name}</a>${" "}<${Word} s=${s} text=${model.text(s, store.now)} />
      <small>${` ${model.need(s, store.now)}`}</small></h3>
    ${
      s.needs ? html`<${Need} s=${s} current=${current} withScreen=${withScreen} />` : html`<${Left} s=${s} />`
    }</article></div>`;
}

function Left({ s }) {
  const x = given(s);
  return html`<p class="answered" role="status">
    ${x ? `Answered ${s.name}: ${x.said}` : `${s.name} does not need you any more.`}</p>`;
}

// Work leads to the changes of a session, and lands its commits.
function Work({ s }) {
  const lines = model.lines(s);
  const land = () => set({ dialog: { land: s } });
  return html`${lines && html`<a class="button" href=${model.link(s, "changes")}>Changes <small>${lines}</small></a>`}
    ${s.changes?.ahead > 0 && html`<button disabled=${!operates()} onClick=${land}>Land…</button>`}`;
}

function Need({ s, current, withScreen }) {
  const blind = s.activity === "blocked" && !s.question;
  const sends = s.actions.includes("send") && ["turn_ended", "turn_interrupted"].includes(s.needs.reason);
  return html`${withScreen && html`<${Screen} s=${s} />`}
    <p class="asked">${s.question?.text ?? model.why(s, store.now, me())}</p>
    <${Answers} s=${s} numbered=${current} />
    ${blind && html`<${Keys} s=${s} />`}
    <${Remedy} s=${s} />
    ${!s.question && sends && html`<${Send} sessions=${[s]} />`}
    ${!s.question && html`<${Verbs} s=${s} but=${sends ? "send" : ""}><${Work} s=${s} /><//>`}`;
}

export function Needs() {
  const all = list();
  return html`<section class="needs" aria-label="needs you"><div class="tools"><h2>Needs you</h2>
    ${
      typeof Notification !== "undefined" &&
      html`<button onClick=${wantNotices} aria-pressed=${notices()}>Notify me</button>`
    }</div>
    ${!all.length && html`<p class="empty" role="status">Nothing needs you.</p>`}
    <div class="cards">${all.map(
      (s, i) => html`<${Card} key=${s.address} s=${s} current=${i === at} withScreen=${i < screens} />`,
    )}</div></section>`;
}

// press does what a key of this view does, and reports whether there is one.
export function press(key) {
  if (key === "j" || key === "k") {
    at = Math.max(0, Math.min(listed.length - 1, at + (key === "j" ? 1 : -1)));
    current = listed[at]?.address;
    redraw();
    const card = document.querySelectorAll(".cards article")[at];
    card?.focus({ preventScroll: true });
    card?.scrollIntoView({ block: "nearest" });
    return true;
  }
  const s = listed[at];
  if (key === "Enter" && s) location.hash = model.link(s);
  else if (s?.question && operates() && model.answers(s.question)[Number(key) - 1]) {
    const o = model.answers(s.question)[Number(key) - 1];
    answer(s, o.answer, o.label);
  } else return false;
  return true;
}
