// What else is known of a session.
import { html } from "../vendor/preact.mjs";
import { of } from "../api.mjs";
import * as model from "../model.mjs";
import { useDocument } from "./document.mjs";
import { me, store } from "../store.mjs";

export function Details({ s }) {
  const [d, problem] = useDocument(of(s.address), s);
  const rows = [
    ["address", s.address],
    ["role", s.role],
    ["agent", s.agent],
    ["runtime", s.runtime],
    ["status", model.text(s, store.now)],
    ["why", model.why(s, store.now, me())],
    ["held", model.held(s, store.now)],
    ["branch", s.branch_live && s.branch_live !== s.branch ? `${s.branch}; checked out: ${s.branch_live}` : s.branch],
    ["workspace", s.workspace],
    ["health", s.unhealthy?.detail || s.health],
    ["restarts", String(s.restarts)],
    [
      "restarting",
      s.restart_budget?.reason &&
        `${s.restart_budget.reason.replaceAll("_", " ")}, ${s.restart_budget.try} of ${s.restart_budget.of}`,
    ],
    ["turns", s.turns == null ? "" : String(s.turns)],
    ["tokens", s.usage ? model.used(s.usage) : s.tokens == null ? "" : String(s.tokens)],
    ["cost", s.usage && `${model.cost(s.usage)} ${model.priced(s.usage)}`],
    ["pull request", model.pull(s)],
    ["conversation", s.conversation_id],
    ["overridden", s.override ? model.yours(`by ${s.override.by}`, me()) : ""],
  ].filter(([, v]) => v);
  return html`<div class="scrolls" tabindex="0" role="region" aria-label="details">
    ${problem && html`<p role="alert">${problem}</p>`}
    <dl class="details">${rows.map(([k, v]) => html`<div key=${k}><dt>${k}</dt><dd>${v}</dd></div>`)}</dl>
    ${
      d?.look_by_hand?.length > 0 &&
      html`<h3>Commands to inspect it yourself</h3>
      <pre>${d.look_by_hand.join("\n")}</pre>`
    }</div>`;
}
