// The icons of verbs, 16 by 16. Each stands beside its name or has it as its label.
import { html } from "./vendor/preact.mjs";

const paths = {
  answer: "M2 3h12v8H7l-3 3v-3H2z",
  send: "M2 8l12-5-5 12-2-5z",
  start: "M5 3l8 5-8 5z",
  restart: "M13 8a5 5 0 1 1-1.5-3.5M13 2v3h-3",
  pause: "M5 3v10M11 3v10",
  resume: "M5 3l8 5-8 5z",
  stop: "M4 4h8v8H4z",
  land: "M4 3v6a3 3 0 0 0 3 3h5M9 9l3 3-3 3",
  theme: "M8 2a6 6 0 1 0 0 12zM8 2a6 6 0 0 1 0 12",
  search: "M7 2a5 5 0 1 1 0 10A5 5 0 0 1 7 2zM11 11l3 3",
  help: "M6 6a2 2 0 1 1 2 2v1M8 12v.5",
  out: "M6 3H3v10h3M9 5l3 3-3 3M12 8H6",
};

export const Icon = ({ name }) =>
  html`<svg class="icon" viewBox="0 0 16 16" aria-hidden="true"><path d=${paths[name]} /></svg>`;
