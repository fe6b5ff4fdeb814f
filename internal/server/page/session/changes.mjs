// The diff of a session, with comments that its agent gets in one message.
import { html, useState } from "../vendor/preact.mjs";
import { act } from "../act.mjs";
import { of } from "../api.mjs";
import { changed } from "../dialogs.mjs";
import { Refresh } from "../land.mjs";
import * as model from "../model.mjs";
import { Since } from "../parts.mjs";
import { useDocument } from "./document.mjs";
import { File } from "./file.mjs";
import { fail, operates, redraw, set, store } from "../store.mjs";

const reviews = new Map(); // by session: its comments, and the files that were viewed

function reviewOf(s) {
  if (!reviews.has(s.address)) reviews.set(s.address, { comments: [], viewed: new Map(), at: "", draft: "" });
  return reviews.get(s.address);
}

// send sends the comments that were not sent yet.
async function send(s, review) {
  const fresh = review.comments.filter((c) => !c.sent);
  const text = model.comments(fresh);
  if (!(await act(`Sent to ${s.name}`, s.address, "send", { text }))) return;
  for (const c of fresh) c.sent = Date.now();
  redraw();
}

const spans = [
  ["", "its base"],
  ["1", "1 hour ago"],
  ["today", "midnight"],
  ["24", "24 hours ago"],
];

function Head({ s, d, review, lands, since }) {
  const fresh = review.comments.filter((c) => !c.sent).length;
  const behind = s.changes?.behind ?? 0;
  const late = behind ? `, ${behind} behind` : "";
  const began = () => set({ trouble: "", notice: "" });
  const land = () => set({ dialog: { land: s } });
  return html`<div class="tools"><${Since} spans=${spans} choose=${(span) => since(model.begin(span, Date.now()))} />
    <span>${d.branch} against ${d.base || "HEAD"}:${" "}
      ${model.count(d.files.length, "file")}, ${model.count(d.ahead, "commit")} ahead${late}</span>
    <span class="gap"></span>
    ${
      fresh > 0 &&
      html`<button class="primary" disabled=${!operates()} onClick=${() => send(s, review)}>
      Send ${model.count(fresh, "comment")}</button>`
    }
    ${behind > 0 && html`<${Refresh} s=${s} disabled=${!operates()} began=${began} done=${changed} failed=${fail} />`}
    ${lands && html`<button disabled=${!operates()} onClick=${land}>Land…</button>`}</div>`;
}

// Verified is the outcome of the last verification of the work, and where the command's output is.
const Verified = ({ v }) =>
  html`<p class="verified"><span class=${`word ${v.ok ? "active" : "broken"}`}>${v.word}</span>${" "}
    <code>${v.commit.slice(0, 7)}</code>${` at ${model.day(v.at, store.now)}`}${v.detail && `: ${v.detail}`}
    ${v.log && html`<br /><small>output: <code>${v.log}</code></small>`}</p>`;

// Entry is a file in the list, whose link goes to its diff.
function Entry({ f }) {
  const jump = (e) => {
    e.preventDefault();
    document.getElementById(`file-${f.path}`)?.scrollIntoView();
  };
  return html`<li><a href=${`#file-${f.path}`} onClick=${jump}>${f.path}</a>${` ${f.change} `}
    ${f.added != null && html`<ins>+${f.added}</ins>${" "}<del>−${f.removed}</del>`}</li>`;
}

export function Changes({ s }) {
  const [since, setSince] = useState("");
  const [d, problem] = useDocument(`${of(s.address)}/diff${since && `?since=${since}`}`, s);
  const review = reviewOf(s);
  if (problem) return html`<p role="alert">${problem}</p>`;
  if (!d) return html`<p role="status">Comparing…</p>`;
  const facts = (f) => d.files.find((x) => x.path === f.path);
  return html`<div class="diff scrolls" tabindex="0" role="region" aria-label="changes">
    <${Head} s=${s} d=${d} review=${review} lands=${model.lands(s, since ? null : d)} since=${setSince} />
    ${s.verified && html`<${Verified} v=${s.verified} />`}
    ${model
      .conflicts(s)
      .map((c) => html`<p key=${c.name} class="conflict">Conflicts with ${c.name} in ${c.files.join(", ")}</p>`)}
    ${d.truncated && html`<p role="alert">The diff is longer than what is shown: agentform diff shows all of it.</p>`}
    <ul class="files">${d.files.map((f) => html`<${Entry} key=${f.path} f=${f} />`)}</ul>
    ${model
      .patch(d.patch)
      .map((f) => html`<${File} key=${f.path} file=${f} facts=${facts(f)} review=${review} />`)}</div>`;
}
