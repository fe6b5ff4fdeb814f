// The diff of a session, with comments that its agent gets in one message.
import { html, useState } from "../vendor/preact.mjs";
import { act } from "../act.mjs";
import { of } from "../api.mjs";
import { changed } from "../dialogs.mjs";
import { Refresh } from "../land.mjs";
import * as model from "../model.mjs";
import { Since } from "../parts.mjs";
import { useDocument } from "./document.mjs";
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

function Head({ s, d, review, since }) {
  const fresh = review.comments.filter((c) => !c.sent).length;
  const behind = s.changes?.behind ?? 0;
  const late = behind ? `, ${behind} behind` : "";
  const began = () => set({ trouble: "", notice: "" });
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
    <button disabled=${!operates()} onClick=${() => set({ dialog: { land: s } })}>Land…</button></div>`;
}

// Verified is the outcome of the last verification of the work, and where the command's output is.
const Verified = ({ v }) =>
  html`<p class="verified"><span class=${`word ${v.ok ? "active" : "broken"}`}>${v.word}</span>${" "}
    <code>${v.commit.slice(0, 7)}</code>${` at ${model.day(v.at, store.now)}`}${v.detail && `: ${v.detail}`}
    ${v.log && html`<br /><small>output: <code>${v.log}</code></small>`}</p>`;

const sent = (c) => (c.sent ? `sent ${model.clock(c.sent).slice(0, 5)}` : "not sent yet");

// focus gives a new element the focus once it is in the page: else letters are keys of that.
const focus = (e) => e && queueMicrotask(() => e.focus());

// Remark is a comment. Until it is sent it can be edited and deleted.
function Remark({ c, review }) {
  const drop = () => {
    review.comments.splice(review.comments.indexOf(c), 1);
    redraw();
  };
  const edit = () => {
    drop();
    write(review, c.id, c.text);
  };
  return html`<p class="remark"><b>${c.text}</b>${" "}<small>${sent(c)}</small>${
    !c.sent &&
    html`${" "}<button class="quiet" onClick=${edit}>Edit</button><button class="quiet" onClick=${drop}>Delete</button>`
  }</p>`;
}

// write opens a draft of a comment at a line. It stays while other views are looked at.
function write(review, at, draft = "") {
  Object.assign(review, { at, draft });
  redraw();
}

function Line({ file, l, id, review }) {
  const on = review.at === id;
  const number = l.after ?? l.before;
  const add = (e) => {
    e.preventDefault();
    if (review.draft.trim()) review.comments.push({ id, path: file.path, line: number, text: review.draft });
    write(review, "");
  };
  return html`<div class=${`line ${l.kind}`}><span class="before">${l.before}</span>
      <button class="comment" disabled=${!operates()} aria-label=${`comment on line ${number} of ${file.path}`}
        onClick=${() => write(review, on ? "" : id)}>${l.after ?? "−"}</button><code>${l.text}</code></div>
    ${review.comments.filter((c) => c.id === id).map((c) => html`<${Remark} c=${c} review=${review} />`)}
    ${
      on &&
      html`<form class="send" onSubmit=${add}>
        <textarea ref=${focus} rows="2" aria-label="comment" placeholder=${`${file.path}:${number}: …`}
          value=${review.draft} onInput=${(e) => (review.draft = e.target.value)}
          onKeyDown=${(e) => e.key === "Enter" && (e.ctrlKey || e.metaKey) && add(e)}></textarea>
        <button>Add comment</button></form>`
    }`;
}

function File({ file, facts, review }) {
  const mark = `${facts?.added} ${facts?.removed} ${file.hunks.length}`; // what was viewed may change
  const viewed = review.viewed.get(file.path) === mark;
  const view = (e) => (review.viewed.set(file.path, e.target.checked ? mark : ""), redraw());
  return html`<section class="file" id=${`file-${file.path}`} aria-label=${file.path}>
    <h3>${file.path}<small>${file.notes.length > 0 && ` ${file.notes.join(", ")}`}</small><span class="gap"></span>
      <label><input type="checkbox" checked=${viewed} onChange=${view} />${" "}viewed</label></h3>
    ${
      !viewed &&
      file.hunks.map(
        (h, i) =>
          html`<div key=${i} class="hunk"><div class="title">${h.title}</div>${h.lines.map((l, j) => {
            const id = `${file.path} ${i} ${j}`;
            return html`<${Line} key=${j} file=${file} l=${l} id=${id} review=${review} />`;
          })}</div>`,
      )
    }</section>`;
}

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
    <${Head} s=${s} d=${d} review=${review} since=${setSince} />
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
