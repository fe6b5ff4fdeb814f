// The fleet: a row for each session, those that need somebody first.
import { html, useEffect, useRef, useState } from "./vendor/preact.mjs";
import * as model from "./model.mjs";
import { choose, chooseAll, chooseNone, landAll, places, reshape, rowHeight, shape, shownRows } from "./places.mjs";
import { Row } from "./row.mjs";
import { me, operates, store } from "./store.mjs";
import { Bulk } from "./verbs.mjs";

// titles are those of the columns.
const titles = {
  choose: "",
  status: "Status",
  session: "Session",
  now: "What it does",
  branch: "Branch",
  changes: "Changes",
  merge: "Merging",
  cost: "Cost",
  age: "Age",
};
function Chips({ at }) {
  const on = (x) => ` ${at.filter} `.includes(` is:${x.word.replaceAll(" ", "-")} `);
  const turn = (x) => reshape({ filter: model.toggled(at.filter, x.word) });
  return html`<div class="chips" role="group" aria-label="sessions by status">${model.tally(store.sessions).map(
    (x) => html`<button key=${x.word} class="chip" aria-pressed=${on(x)} onClick=${() => turn(x)}>
      <span class=${`word ${x.tone}`}>${x.count} ${x.word}</span></button>`,
  )}</div>`;
}

// All selects all sessions that are shown, or none.
function All({ shown }) {
  const count = shown.filter((s) => places.chosen.has(s.address)).length;
  const mixed = count > 0 && count < shown.length;
  return html`<input type="checkbox" aria-label="select all that are shown" checked=${count > 0 && !mixed}
    indeterminate=${mixed} disabled=${!shown.length} onChange=${chooseAll} />`;
}

function Head({ at, shown }) {
  const sort = (c) => {
    if (at.sort !== c) reshape({ sort: c, descending: false });
    else reshape(at.descending ? { sort: "", descending: false } : { descending: true });
  };
  return html`<div class="row head" role="row" aria-rowindex="1">${Object.entries(titles).map(([c, title]) => {
    const arrow = at.sort !== c ? "" : at.descending ? " ↓" : " ↑";
    const order = at.descending ? "descending" : "ascending";
    const number = c === "cost" || c === "age";
    return html`<span key=${c} role="columnheader" class=${`c-${c}${number ? " c-number" : ""}`}
      aria-sort=${arrow ? order : undefined}>
      ${c === "choose" && html`<${All} shown=${shown} />`}${
        model.columns[c] ? html`<button class="quiet" onClick=${() => sort(c)}>${title}${arrow}</button>` : title
      }</span>`;
  })}</div>`;
}

// useView returns a ref of an element that scrolls, and what is seen of it.
function useView() {
  const [view, setView] = useState({ top: 0, height: innerHeight });
  const ref = useRef();
  useEffect(() => {
    const e = ref.current;
    const seen = () => setView({ top: e.scrollTop, height: e.clientHeight });
    const o = new ResizeObserver(seen);
    o.observe(e);
    e.addEventListener("scroll", seen, { passive: true });
    return () => (o.disconnect(), e.removeEventListener("scroll", seen));
  }, []);
  return [ref, view];
}

function Tools({ at }) {
  return html`<div class="tools"><${Chips} at=${at} /><span class="gap"></span>
    <input id="filter" type="search" aria-label="filter sessions" placeholder="filter: is:asks role:builder" title="/"
      value=${at.filter} onInput=${(e) => reshape({ filter: e.target.value })} />
    <select aria-label="group by" value=${at.group} onChange=${(e) => reshape({ group: e.target.value })}>
      <option value="">no groups</option><option value="role">by role</option>
      <option value="runtime">by runtime</option>
      <option value="word">by status</option><option value="agent">by agent</option></select>
    <button disabled=${!operates()} onClick=${landAll}>Land all…</button></div>`;
}

function Place({ r, index, height, differences }) {
  const s = r.session;
  const top = index * height;
  if (!s) {
    return html`<div class="row group" role="row" aria-rowindex=${index + 2}
      style=${{ transform: `translateY(${top}px)` }}>
      <span role="cell"><b>${r.group}</b>${" "}${r.count}</span></div>`;
  }
  const age = s.started_at ? model.span(store.now - Date.parse(s.started_at)) : "";
  return html`<${Row} s=${s} top=${top} index=${index} at=${index === places.at} chosen=${places.chosen.has(s.address)}
    choose=${choose} text=${model.text(s, store.now)} now=${model.now(s, store.now, me())} age=${age}
    differs=${(differences.get(s.address) ?? []).join("\n")} />`;
}

export function Fleet() {
  const [ref, view] = useView();
  const at = shape();
  const all = shownRows();
  const height = rowHeight();
  const differences = model.differences(store.plan);
  const first = Math.max(0, Math.floor(view.top / height) - 8);
  const shown = all.slice(first, first + Math.ceil(view.height / height) + 16);
  const listed = all.filter((r) => r.session).map((r) => r.session);
  const chosenOnes = store.sessions.filter((s) => places.chosen.has(s.address));
  return html`<section class="fleet" aria-label="fleet"><${Tools} at=${at} />
    <${Bulk} sessions=${chosenOnes} shown=${listed} all=${chooseAll} clear=${chooseNone} />
    <div class="table" role="table" aria-label="sessions"
      aria-rowcount=${all.length + 1} ref=${ref} tabindex="0">
      <${Head} at=${at} shown=${listed} />
      <div class="rows" role="rowgroup" style=${{ height: `${all.length * height}px` }}>${shown.map(
        (
          r,
          i,
        ) => html`<${Place} key=${r.session?.address ?? `group ${r.group}`} r=${r} index=${first + i} height=${height}
          differences=${differences} />`,
      )}</div>
      ${store.loaded && !all.length && html`<${Nothing} />`}
    </div></section>`;
}

const example = `session "first" {
  agent  = "claude"
  branch = "agents/first"
  prompt = "Say what this repository is for."
}`;

function Nothing() {
  if (store.sessions.length) {
    const said = model.absent(store.sessions, shape().filter);
    return html`<div class="empty" role="status"><p>No session matches the filter.</p>
      ${said.map((text) => html`<p key=${text}>${text}</p>`)}</div>`;
  }
  return html`<div class="empty"><p>No sessions yet. Declare some in agentform.hcl, then run agentform apply:</p>
    <pre>${example}</pre></div>`;
}
