// One session: its head, its terminal, and another view of it beside or instead.
import { html, useEffect, useRef, useState } from "../vendor/preact.mjs";
import { Answers, Keys } from "../act.mjs";
import * as model from "../model.mjs";
import { Remedy, Word } from "../parts.mjs";
import { Changes } from "./changes.mjs";
import { Conversation } from "./conversation.mjs";
import { Details } from "./details.mjs";
import { beside } from "./size.mjs";
import { TerminalTab } from "./terminal.mjs";
import { Timeline } from "./timeline.mjs";
import { me, set, store } from "../store.mjs";
import { Verbs } from "../verbs.mjs";

export const tabs = ["terminal", "conversation", "timeline", "changes", "details"];
const views = { conversation: Conversation, timeline: Timeline, changes: Changes, details: Details };

const wide = 1400; // px: two views may fit next to each other

// useWidth returns the width of the page.
function useWidth() {
  const [width, setWidth] = useState(innerWidth);
  useEffect(() => {
    const change = () => setWidth(innerWidth);
    addEventListener("resize", change);
    return () => removeEventListener("resize", change);
  }, []);
  return width;
}

const Question = ({ s }) =>
  html`<div class="question" role="alert">${s.question && html`<p class="asked">${s.question.text}</p>`}
    ${s.question ? html`<${Answers} s=${s} />` : html`<${Keys} s=${s} />`}</div>`;

function Head({ s }) {
  const facts = [s.agent, s.branch, model.lines(s), model.behind(s), model.cost(s.usage)].filter(Boolean);
  const why = model.why(s, store.now, me());
  return html`<div class="session-head">
    <div class="tools"><h2>${s.name}</h2><${Word} s=${s} text=${model.text(s, store.now)} />
      <span class="facts">${facts.join(" · ")}</span><span class="gap"></span><${Verbs} s=${s} />
      <button class="more" onClick=${() => set({ dialog: { verbs: s.address } })}>Actions…</button></div>
    ${s.over_budget && html`<p class="hold" role="status">${model.held(s, store.now)}</p>`}
    ${why && !s.over_budget && !s.question && html`<p class="why">${why}</p>`}
    <${Remedy} s=${s} />
    ${s.activity === "blocked" && html`<${Question} s=${s} />`}</div>`;
}

// Tabs are the links of the views of a session. That of the view that is shown is scrolled to.
function Tabs({ s, tab }) {
  const strip = useRef();
  useEffect(() => strip.current.querySelector("[aria-current]")?.scrollIntoView({ inline: "nearest" }), [tab]);
  return html`<nav class="tabs" aria-label="views of the session" ref=${strip}>${tabs.map(
    (t) => html`<a key=${t} href=${model.link(s, t)} aria-current=${t === tab ? "page" : undefined}>${t}</a>`,
  )}</nav>`;
}

export function Session({ address, tab }) {
  const width = useWidth();
  const [terminal, told] = useState({}); // its columns, and who controls it
  const opened = useRef(false); // the terminal, which stays while others are looked at
  const s = store.sessions.find((x) => x.address === address);
  if (!s) {
    const why = store.loaded ? `No session ${address} in the state.` : "Reading…";
    return html`<section><p role="status">${why}</p><p><a href="#/">Fleet</a></p></section>`;
  }
  const View = views[tab];
  const room = View && width >= wide ? beside(width, terminal) : 0; // for the terminal next to the view
  opened.current ||= room > 0 || !View;
  return html`<section class="session" aria-label=${s.name}><${Head} s=${s} />
    <${Tabs} s=${s} tab=${tab} />
    <div class=${`panes${room ? " two" : ""}`} style=${{ gridTemplateColumns: room ? `${room}px minmax(0, 1fr)` : "" }}>
      ${
        opened.current &&
        html`<div key="terminal" class="pane" hidden=${Boolean(View) && !room}>
          <${TerminalTab} s=${s} told=${told} /></div>`
      }
      ${View && html`<div key=${tab} class="pane"><${View} s=${s} /></div>`}</div></section>`;
}
