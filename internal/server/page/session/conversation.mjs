// What a person and the agent of a session said.
import { html, useEffect, useRef } from "../vendor/preact.mjs";
import { Send } from "../act.mjs";
import { of } from "../api.mjs";
import * as model from "../model.mjs";
import { useDocument } from "./document.mjs";

const few = 300; // letters of a prompt that is shown whole

// Entry is something that was said. A call of a tool and a long prompt are folded to a line.
function Entry({ e }) {
  const time = e.at && html`<time>${model.clock(e.at)}</time>`;
  if (["agent", "error"].includes(e.kind) || (e.kind === "user" && e.text.length <= few)) {
    return html`<article class=${`entry ${e.kind}`}><b>${e.kind}</b>${" "}${time}
      <div class="prose">${e.text}</div></article>`;
  }
  const [first = ""] = e.text.split("\n");
  return html`<details class=${`entry ${e.kind}`}>
    <summary><b>${e.kind}</b>${" "}${time}${" "}<code>${first}</code></summary>
    <pre>${e.text}</pre></details>`;
}

export function Conversation({ s }) {
  const [d, problem] = useDocument(`${of(s.address)}/data`, s);
  const end = useRef();
  useEffect(() => end.current?.scrollIntoView({ block: "end" }), [d]);
  return html`<div class="conversation">${problem && html`<p role="alert">${problem}</p>`}
    <div class="entries" tabindex="0" role="log" aria-label="conversation">
      ${
        d &&
        !d.entries.length &&
        html`<p>The agent has no session file: this is its screen.</p>
        <pre>${d.screen.text}</pre>`
      }
      ${d?.entries.map((e, i) => html`<${Entry} key=${i} e=${e} />`)}<span ref=${end}></span></div>
    <${Send} sessions=${[s]} /></div>`;
}
