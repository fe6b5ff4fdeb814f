// The dialogs: a question before an action, an answer, a text, keys, and where to go.
import { html, useState } from "./vendor/preact.mjs";
import { Answers, Keys, Send } from "./act.mjs";
import { useDialog } from "./dialog.mjs";
import { More } from "./head.mjs";
import { Land } from "./land.mjs";
import { LandAll } from "./land-all.mjs";
import { Logins } from "./logins.mjs";
import * as model from "./model.mjs";
import { set, store } from "./store.mjs";
import { soon } from "./stream.mjs";
import { Verbs } from "./verbs.mjs";

const close = () => set({ dialog: null });
export const changed = (notice) => {
  set({ notice });
  soon();
};

function Confirm({ d }) {
  const yes = () => (close(), d.run());
  return html`<dialog ...${useDialog(close)} aria-label=${d.title}><h2>${d.title}</h2>
    ${d.text && html`<p class="said">${d.text}</p>`}
    <div class="verbs"><button autofocus onClick=${close}>Cancel</button>
      <button class=${d.ends ? "ends" : "primary"} onClick=${yes}>${d.yes}</button></div></dialog>`;
}

// Reply answers the question of a session that is not on the screen. It closes when there is none any more.
function Reply({ address }) {
  const s = store.sessions.find((x) => x.address === address);
  return html`<dialog ...${useDialog(close)} aria-label=${`Answer ${s?.name ?? ""}`}><h2>${s?.name}</h2>
    <p class="asked">${s?.question?.text ?? (s?.activity === "blocked" ? s.detail : "It does not ask any more.")}</p>
    ${s && html`<${Answers} s=${s} />`}${s?.activity === "blocked" && !s.question && html`<${Keys} s=${s} />`}
    <div class="verbs"><button autofocus onClick=${close}>Close</button></div></dialog>`;
}

// Sheet has the verbs of a session where there is no room for them.
function Sheet({ address }) {
  const s = store.sessions.find((x) => x.address === address);
  return html`<dialog ...${useDialog(close)} aria-label="Actions" class="sheet"><h2>${s?.name}</h2>
    ${s && html`<${Verbs} s=${s} />`}
    <div class="verbs"><button autofocus onClick=${close}>Close</button></div></dialog>`;
}

function Message({ addresses }) {
  const sessions = store.sessions.filter((s) => addresses.includes(s.address));
  const title = sessions.length === 1 ? `Send to ${sessions[0].name}` : `Send to ${sessions.length} sessions`;
  return html`<dialog ...${useDialog(close)} aria-label=${title}><h2>${title}</h2>
    <${Send} sessions=${sessions} sent=${close} /></dialog>`;
}

const keys = [
  ["Ctrl-K", "jump to a session or view"],
  ["?", "this help"],
  ["g f", "fleet"],
  ["g w", "wall"],
  ["g p", "plan"],
  ["g n", "needs you"],
  ["g r", "report"],
  ["g u", "usage"],
  ["/", "filter the fleet"],
  ["j, k", "next and previous session or card"],
  ["x", "select a session in the fleet"],
  ["a", "answer its question"],
  ["s", "send it a text"],
  ["r", "restart it"],
  ["p", "pause it, or resume it"],
  ["l", "land its work"],
  ["L", "land all, in the fleet"],
  ["1 … 9", "tabs of a session; answers of a card"],
  ["Esc", "close a dialog; clear the selection"],
];

const Help = () =>
  html`<dialog ...${useDialog(close)} aria-label="Keys"><h2>Keys</h2>
    <dl class="keys">${keys.map(([k, what]) => html`<div key=${k}><dt><kbd>${k}</kbd></dt><dd>${what}</dd></div>`)}</dl>
    <p>While you control a terminal, its keys go to the agent. Ctrl-Shift-K leaves it.</p>
    <button autofocus onClick=${close}>Close</button></dialog>`;

const views = [
  { name: "Fleet", to: "#/", about: "view" },
  { name: "Wall", to: "#/wall", about: "view" },
  { name: "Plan", to: "#/plan", about: "view" },
  { name: "Needs you", to: "#/needs", about: "view" },
  { name: "Report", to: "#/report", about: "view" },
  { name: "Usage", to: "#/usage", about: "view" },
];

const more = (shown, all) => `${shown} of ${all} are shown. Type more letters to find the others.`;

function Jump() {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const sessions = store.sessions.map((s) => ({ name: s.name, to: model.link(s), about: `${s.word} · ${s.branch}` }));
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = (x) => words.every((w) => `${x.name} ${x.about}`.toLowerCase().includes(w));
  const all = [...views, ...sessions].filter(fits);
  const found = all.slice(0, 12);
  const go = (x) => (close(), (location.hash = x.to));
  const key = (e) => {
    if (e.key === "ArrowDown") setAt(Math.min(at + 1, found.length - 1));
    else if (e.key === "ArrowUp") setAt(Math.max(at - 1, 0));
    else if (e.key === "Enter" && found[at]) go(found[at]);
    else return;
    e.preventDefault();
  };
  return html`<dialog ...${useDialog(close)} aria-label="Jump" class="jump">
    <input autofocus role="combobox" aria-expanded="true" aria-controls="found" aria-activedescendant=${`found-${at}`}
      aria-label="session or view" value=${text} onKeyDown=${key} placeholder="session or view"
      onInput=${(e) => (setText(e.target.value), setAt(0))} />
    <ul id="found" role="listbox" aria-label="found">${found.map(
      (x, i) =>
        html`<li key=${x.to} id=${`found-${i}`} role="option" aria-selected=${i === at} onClick=${() => go(x)}>
          <b>${x.name}</b>${" "}<small>${x.about}</small></li>`,
    )}</ul><p role="status">${
      found.length ? all.length > found.length && more(found.length, all.length) : "No session or view has these words."
    }</p></dialog>`;
}

// Dialog is the dialog that is open.
export function Dialog() {
  const d = store.dialog;
  if (!d) return null;
  if (d.help) return html`<${Help} />`;
  if (d.more) return html`<${More} close=${close} />`;
  if (d.jump) return html`<${Jump} />`;
  if (d.answer) return html`<${Reply} address=${d.answer[0]} />`;
  if (d.verbs) return html`<${Sheet} address=${d.verbs} />`;
  if (d.send) return html`<${Message} addresses=${d.send} />`;
  if (d.land) return html`<${Land} s=${d.land} close=${close} done=${changed} />`;
  if (d.logins) return html`<${Logins} close=${close} />`;
  if (d.landAll) return html`<${LandAll} close=${close} done=${changed} />`;
  return html`<${Confirm} d=${d} />`;
}
