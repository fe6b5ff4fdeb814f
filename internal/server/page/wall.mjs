// The wall: the screens of sessions as tiles, for the second screen.
import { html, useEffect, useState } from "./vendor/preact.mjs";
import { Answers, Keys } from "./act.mjs";
import { ask, of } from "./api.mjs";
import * as model from "./model.mjs";
import { Word, opens } from "./parts.mjs";
import { reshape, shape } from "./places.mjs";
import { store } from "./store.mjs";

const most = 12; // tiles
const lines = 40; // of each screen
const pace = 3000; // ms until the screen of an agent that works is asked for again

// useScreen asks for the end of a screen when the session changes, and again and again while its agent works.
function useScreen(s) {
  const [text, setText] = useState("");
  const works = s.tone === "active" && s.activity !== "idle";
  useEffect(() => {
    let over = false;
    const look = () => {
      if (document.hidden) return;
      ask(`${of(s.address)}/data?tail=${lines}`).then(
        (d) => over || setText(d.screen.text.trimEnd()),
        () => {}, // the page says that the hub does not answer
      );
    };
    look();
    const timer = works && setInterval(look, pace);
    return () => {
      over = true;
      clearInterval(timer);
    };
  }, [s.address, s.word, s.last_event?.time, works]);
  return text;
}

function Tile({ s }) {
  const text = useScreen(s);
  return html`<article class=${`tile ${s.tone}`} aria-label=${s.name} ...${opens(s)}>
    <h3><a href=${model.link(s)}>${s.name}</a>${" "}<${Word} s=${s} text=${model.text(s, store.now)} /></h3>
    <div class="tile-screen"><pre>${text}</pre></div>
    ${s.activity === "blocked" && (s.question ? html`<p class="asked">${s.question.text}</p>` : "")}
    ${s.activity === "blocked" && (s.question ? html`<${Answers} s=${s} />` : html`<${Keys} s=${s} />`)}</article>`;
}

export function Wall() {
  const at = shape();
  const all = model.rows(store.sessions, { filter: at.filter }).map((r) => r.session);
  const left = all.length - most;
  return html`<section class="wall" aria-label="wall"><div class="tools">
      <input type="search" aria-label="filter the wall" placeholder="filter: is:working role:builder" value=${at.filter}
        onInput=${(e) => reshape({ filter: e.target.value })} />
      <span role="status">${left > 0 ? `the first ${most} of ` : ""}${model.count(all.length, "session")}</span></div>
    <div class="tiles scrolls" tabindex="0" role="region" aria-label="screens">${all
      .slice(0, most)
      .map((s) => html`<${Tile} key=${s.address} s=${s} />`)}</div></section>`;
}
