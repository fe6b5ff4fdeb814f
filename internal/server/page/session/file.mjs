// A file of a diff, with the comments on its lines.
import { html } from "../vendor/preact.mjs";
import * as model from "../model.mjs";
import { operates, redraw } from "../store.mjs";

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

export function File({ file, facts, review }) {
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
            const id = `${file.path} ${l.after ?? `-${l.before}`}`; // also of a diff since another time
            return html`<${Line} key=${j} file=${file} l=${l} id=${id} review=${review} />`;
          })}</div>`,
      )
    }</section>`;
}
