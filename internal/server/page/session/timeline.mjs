// The events of a session.
import { html } from "../vendor/preact.mjs";
import { of } from "../api.mjs";
import { Events } from "../parts.mjs";
import { useDocument } from "./document.mjs";

export function Timeline({ s }) {
  const [d, problem] = useDocument(`${of(s.address)}?events=200`, s);
  return html`<div class="scrolls" tabindex="0" role="region" aria-label="timeline">
    ${problem && html`<p role="alert">${problem}</p>`}<${Events} events=${[...(d?.events ?? [])].reverse()} /></div>`;
}
