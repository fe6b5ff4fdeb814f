// The page: its state, and the views that show it.
import { Component, html, render, useEffect, useRef, useState } from "/vendor/preact.mjs";
import { ask, of } from "/api.mjs";
import { useDialog } from "/dialog.mjs";
import { Land, LandAll, Refresh } from "/land.mjs";
import * as model from "/model.mjs";

const kept = 200; // events on the page
const rowHeight = 44; // px; page.css has the same
const store = {
  sessions: [], counts: {}, wrong: 0, plan: null, events: [], access: null, connected: false, loaded: false,
  trouble: "", notice: "", route: model.route(location.hash), now: Date.now(), dialog: null,
};
let draw = () => {};
export function set(change) {
  Object.assign(store, change);
  draw();
}
const fail = (e) => (e.status === 401 ? set({ access: null, loaded: true }) : set({ trouble: e.message }));

// ---- what the hub says ----

let asking = false;
let again = false;
let refreshing = 0;
async function refresh() {
  if (asking) return void (again = true);
  asking = true;
  const began = performance.now();
  try {
    const [d, plan] = await Promise.all([ask("/v1/sessions?ranked=true"), ask("/v1/plan")]);
    set({ sessions: d.sessions, counts: d.counts, wrong: d.wrong_branch, plan, loaded: true });
    notify();
  } catch (e) {
    fail(e);
  }
  asking = false;
  clearTimeout(refreshing);
  // A large fleet takes longer: at most a third of the time goes into it.
  refreshing = setTimeout(refresh, again ? Math.max(50, 2 * (performance.now() - began)) : 5000);
  again = false;
}
const soon = () => {
  clearTimeout(refreshing);
  refreshing = setTimeout(refresh, 20);
};

let stream = null;
let last = "";
let streamTries = 0;
function listen() {
  stream?.close();
  stream = new EventSource(`/v1/events${last ? `?after=${encodeURIComponent(last)}` : ""}`);
  stream.onopen = () => {
    streamTries = 0;
    set({ connected: true });
    soon();
  };
  stream.onmessage = ({ data, lastEventId }) => {
    last = lastEventId;
    const e = { id: lastEventId, ...JSON.parse(data) };
    set({ events: [e, ...store.events].slice(0, kept), sessions: store.sessions.map((s) => model.after(s, e)) });
    soon();
  };
  stream.onerror = () => {
    if (store.connected) set({ connected: false });
    stream.close();
    last = ""; // an id of a hub that has ended is not known to the next
    setTimeout(listen, model.retry(streamTries++));
  };
}

// enter logs in by the link that opened the page, if there is one, and begins.
async function enter(login) {
  const code = /^#login=([0-9a-f]+)$/.exec(location.hash);
  if (code) {
    history.replaceState(null, "", location.pathname);
    login = { code: code[1] };
    set({ route: model.route("") });
  }
  if (!login) refresh(); // its answer comes while that of access does
  try {
    const access = login ? await ask("/v1/login", login) : await ask("/v1/access");
    set({ access, trouble: "" });
    document.title = access.project ? `${access.project} · agentform` : "agentform";
    if (login) refresh();
    listen();
  } catch (e) {
    set({ access: null, loaded: true, trouble: login ? e.message : e.status === 401 ? "" : e.message });
  }
}

// leave ends the login. A new start of the page forgets all that it has shown.
async function leave() {
  try {
    await ask("/v1/logout", {});
    history.replaceState(null, "", location.pathname);
    location.reload();
  } catch (e) {
    fail(e);
  }
}

const operates = () => store.access?.scope === "operate";
async function act(what, address, name, body = {}) {
  set({ trouble: "", notice: "" });
  try {
    const r = await ask(`${of(address)}/${name}`, body);
    set({ notice: what });
    soon();
    return r;
  } catch (e) {
    fail(e);
    return null;
  }
}

// ---- notifications ----

const told = new Set();
function notify() {
  if (typeof Notification === "undefined" || Notification.permission !== "granted" || localStorage.getItem("notify") !== "on") return;
  for (const { session: s, key } of model.due(store.sessions, told, Date.now())) {
    told.add(key);
    const n = new Notification(`${s.name} ${s.needs.reason.replaceAll("_", " ")}`, { body: s.question?.text ?? s.detail, tag: key });
    n.onclick = () => {
      focus();
      location.hash = "#/needs";
    };
  }
}
async function wantNotices() {
  const on = localStorage.getItem("notify") !== "on" && (await Notification.requestPermission()) === "granted";
  localStorage.setItem("notify", on ? "on" : "off");
  set({ notice: on ? "This browser tells you when a session has needed you for 5 seconds." : "Notifications are off." });
}

// ---- parts ----

const State = ({ s }) => html`<span class=${`state ${s.state}`}>${s.state}</span>`;
const Activity = ({ s }) => html`<span class=${`activity ${s.activity}`}>${s.activity?.replaceAll("_", " ")}</span>`;

function Answers({ s }) {
  const [text, setText] = useState("");
  const q = s.question;
  if (!q) return null;
  const answer = (value) => act(`Answered ${s.name}: ${value}`, s.address, "answer", { answer: value, question: q.id });
  return html`<div class="answers" role="group" aria-label=${`answers to ${s.name}`}>
    ${model.answers(q).map((o) => html`<button key=${o.answer} disabled=${!operates()} title=${o.about} onClick=${() => answer(o.answer)}>${o.label}${o.about && o.about !== o.label && html` <small>${o.about}</small>`}</button>`)}
    ${model.takesText(q) && html`<form onSubmit=${(e) => (e.preventDefault(), text.trim() && answer(text), setText(""))}>
      <input aria-label=${`answer ${s.name} with a text`} value=${text} disabled=${!operates()} onInput=${(e) => setText(e.target.value)} placeholder="answer with a text" />
      <button disabled=${!operates()}>Answer</button></form>`}
  </div>`;
}

function confirmVerb(s, v) {
  if (v.over) return set({ dialog: { title: `Start ${s.name} over its budget?`, text: model.again(s, store.now), yes: "Start anyway", run: () => act(`Started ${s.name}: its budgets start over.`, s.address, v.name, { ignore_budget: true }) } });
  set({ dialog: { title: `${v.label} ${s.name}?`, yes: v.label, run: () => act(`${v.label}: ${s.name}`, s.address, v.name) } });
}

const Verbs = ({ s }) => html`<div class="verbs">${model.verbs(s).map((v) => html`<button key=${v.label} disabled=${!operates()} onClick=${() => confirmVerb(s, v)}>${v.label}</button>`)}</div>`;

function Confirm({ d }) {
  const close = () => set({ dialog: null });
  return html`<dialog ...${useDialog(close)} aria-label=${d.title}><h2>${d.title}</h2>${d.text && html`<p>${d.text}</p>`}
    <div class="verbs"><button autofocus onClick=${close}>Cancel</button><button class="yes" onClick=${() => (close(), d.run())}>${d.yes}</button></div></dialog>`;
}

const closeDialog = () => set({ dialog: null });
const changed = (notice) => {
  set({ notice });
  soon();
};

const keys = [
  ["Ctrl-K", "jump to a session or view"], ["?", "this help"], ["g f", "fleet"], ["g p", "plan"], ["g n", "needs you"], ["g r", "report"],
  ["/", "filter the fleet"], ["L", "land all, in the fleet"], ["j, k", "next and previous session"], ["1 … 5", "tabs of a session"], ["Esc", "close a dialog"],
];
function Help() {
  const close = () => set({ dialog: null });
  return html`<dialog ...${useDialog(close)} aria-label="Keys"><h2>Keys</h2>
    <dl class="keys">${keys.map(([k, what]) => html`<div key=${k}><dt><kbd>${k}</kbd></dt><dd>${what}</dd></div>`)}</dl>
    <p>While you type in a terminal, its keys go to the agent.</p><button autofocus onClick=${close}>Close</button></dialog>`;
}

function Jump() {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const close = () => set({ dialog: null });
  const views = [["Fleet", "#/"], ["Plan", "#/plan"], ["Needs you", "#/needs"], ["Report", "#/report"]].map(([name, to]) => ({ name, to, about: "view" }));
  const all = [...views, ...store.sessions.map((s) => ({ name: s.name, to: model.link(s), about: `${s.state} · ${s.branch}` }))];
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const found = all.filter((x) => words.every((w) => `${x.name} ${x.about}`.toLowerCase().includes(w))).slice(0, 12);
  const go = (x) => (close(), (location.hash = x.to));
  const key = (e) => {
    if (e.key === "ArrowDown") setAt(Math.min(at + 1, found.length - 1));
    else if (e.key === "ArrowUp") setAt(Math.max(at - 1, 0));
    else if (e.key === "Enter" && found[at]) go(found[at]);
    else return;
    e.preventDefault();
  };
  return html`<dialog ...${useDialog(close)} aria-label="Jump" class="jump">
    <input autofocus role="combobox" aria-expanded="true" aria-controls="found" aria-activedescendant=${`found-${at}`} aria-label="session or view" value=${text} onKeyDown=${key} onInput=${(e) => (setText(e.target.value), setAt(0))} placeholder="session or view" />
    <ul id="found" role="listbox" aria-label="found">${found.map((x, i) => html`<li key=${x.to} id=${`found-${i}`} role="option" aria-selected=${i === at} onClick=${() => go(x)}><b>${x.name}</b> <small>${x.about}</small></li>`)}</ul></dialog>`;
}

// ---- fleet ----

const titles = { session: "Session", state: "State", activity: "Activity", drift: "Declared | actual", changes: "Changes", tokens: "Tokens", cost: "Cost", age: "Age", restarts: "Restarts" };
const fleet = { filter: "", sort: "", descending: false, group: "", at: -1 };

class Row extends Component {
  // A row is drawn again when something in it differs: most stay as they are while the fleet
  // scrolls.
  shouldComponentUpdate(next) {
    const p = this.props;
    return next.s !== p.s || next.top !== p.top || next.at !== p.at || next.age !== p.age || next.due !== p.due || (next.drift ?? []).join() !== (p.drift ?? []).join();
  }

  render({ s, drift, top, at, index, age, due }) {
    const agrees = model.agrees(s) && !drift;
    const conflicts = model.conflicts(s);
    const detail = s.question?.text ?? (model.asks(s) || s.state !== s.detail ? s.detail : "");
    return html`<div class=${`row${at ? " at" : ""}`} role="row" aria-rowindex=${index + 2} style=${{ transform: `translateY(${top}px)` }}>
    <span role="cell" class="c-session"><a href=${model.link(s)}>${s.name}</a><small>${s.agent}</small></span>
    <span role="cell" class="c-state"><${State} s=${s} />${due && html`<small>next try in ${due}</small>`}</span>
    <span role="cell" class="c-activity"><${Activity} s=${s} /><small title=${detail}>${detail}</small></span>
    <span role="cell" class=${`c-drift${agrees ? "" : " differs"}`} title=${(drift ?? []).join("\n")}><span>${s.desired}<small>${s.branch}</small></span><span>${s.state}<small>${drift ? drift[0] : agrees ? "the same" : model.actual(s)}</small></span></span>
    <span role="cell" class="c-changes">${model.changed(s)}${conflicts.length > 0 && html`<small class="conflict" title=${conflicts.map((c) => `${c.name}: ${c.files.join(", ")}`).join("\n")}>conflicts with ${conflicts.map((c) => c.name).join(", ")}</small>`}</span>
    <span role="cell" class="c-number">${model.number(s.usage?.total ?? s.tokens)}</span>
    <span role="cell" class="c-number" title=${model.priced(s.usage)}>${model.cost(s.usage)}</span>
    <span role="cell" class="c-number">${age}</span>
    <span role="cell" class="c-number">${s.restarts || ""}</span>
  </div>`;
  }
}

const age = (s) => (s.started_at ? model.span(store.now - Date.parse(s.started_at)) : "");
const due = (s) => (s.restart_budget?.until ? model.countdown(Date.parse(s.restart_budget.until) - store.now) : "");

function Fleet() {
  const [view, setView] = useState({ top: 0, height: innerHeight });
  const ref = useRef();
  const all = model.rows(store.sessions, fleet);
  const differs = model.drifts(store.plan);
  useEffect(() => {
    const e = ref.current;
    const seen = () => setView({ top: e.scrollTop, height: e.clientHeight });
    const o = new ResizeObserver(seen);
    o.observe(e);
    e.addEventListener("scroll", seen, { passive: true });
    return () => (o.disconnect(), e.removeEventListener("scroll", seen));
  }, []);
  const change = (c) => (Object.assign(fleet, c), draw());
  const sort = (c) => change(fleet.sort === c ? (fleet.descending ? { sort: "", descending: false } : { descending: true }) : { sort: c, descending: false });
  const first = Math.max(0, Math.floor(view.top / rowHeight) - 8);
  const shown = all.slice(first, first + Math.ceil(view.height / rowHeight) + 16);
  return html`<section class="fleet" aria-label="fleet">
    <div class="tools">
      <input id="filter" type="search" aria-label="filter sessions" placeholder="filter  /" value=${fleet.filter} onInput=${(e) => change({ filter: e.target.value, at: -1 })} />
      <label>Group <select aria-label="group by" value=${fleet.group} onChange=${(e) => change({ group: e.target.value })}>
        <option value="">none</option><option value="role">role</option><option value="runtime">runtime</option><option value="state">state</option><option value="agent">agent</option></select></label>
      <button disabled=${!operates()} onClick=${landAll}>Land all…</button>
      <span role="status">${model.counts(store.counts, store.wrong)}${fleet.filter ? ` · ${all.filter((r) => r.session).length} shown` : ""}</span>
    </div>
    <div class="table" role="table" aria-label="sessions" aria-rowcount=${all.length + 1} ref=${ref} tabindex="0">
      <div class="row head" role="row" aria-rowindex="1">${Object.entries(titles).map(([c, title]) => html`<span key=${c} role="columnheader" class=${`c-${["tokens", "cost", "age", "restarts"].includes(c) ? "number" : c}`} aria-sort=${fleet.sort === c ? (fleet.descending ? "descending" : "ascending") : "none"}><button onClick=${() => sort(c)}>${title}${fleet.sort === c ? (fleet.descending ? " ↓" : " ↑") : ""}</button></span>`)}</div>
      <div class="rows" role="rowgroup" style=${{ height: `${all.length * rowHeight}px` }}>
        ${shown.map((r, i) => {
          const top = (first + i) * rowHeight;
          return r.session
            ? html`<${Row} key=${r.session.address} s=${r.session} age=${age(r.session)} due=${due(r.session)} drift=${differs.get(r.session.address)} top=${top} index=${first + i} at=${first + i === fleet.at} />`
            : html`<div key=${`group ${r.group}`} class="row group" role="row" aria-rowindex=${first + i + 2} style=${{ transform: `translateY(${top}px)` }}><span role="cell"><b>${r.group}</b> ${r.count}</span></div>`;
        })}
      </div>
      ${store.loaded && !all.length && html`<p class="empty">${store.sessions.length ? "No session matches the filter." : "No sessions: agentform apply creates those in the manifest."}</p>`}
    </div>
  </section>`;
}

const landAll = () => set({ dialog: { landAll: true }, trouble: "", notice: "" });

function step(by) {
  const all = model.rows(store.sessions, fleet);
  let at = fleet.at;
  do at += by;
  while (all[at] && !all[at].session);
  if (!all[at]) return;
  fleet.at = at;
  draw();
  const table = document.querySelector(".table");
  if (table.scrollTop > at * rowHeight) table.scrollTop = at * rowHeight;
  else if (table.scrollTop + table.clientHeight < (at + 2) * rowHeight) table.scrollTop = (at + 2) * rowHeight - table.clientHeight;
}

// ---- plan ----

function Plan() {
  const p = store.plan;
  if (!p) return html`<section><p role="status">Reading the plan…</p></section>`;
  const changes = p.changes.filter((c) => c.action !== "none");
  return html`<section class="plan" aria-label="plan"><h2>What the hub is about to do</h2>
    ${!changes.length && html`<p>Nothing: every session is as it was applied.</p>`}
    <ul>${changes.map((c) => html`<li key=${c.address} class=${c.action}><span class="symbol" aria-hidden="true">${model.symbols[c.action] ?? ""}</span>
      <div><a href=${model.link(c)}>${c.address}</a> <b>${c.action}</b> <span>${c.detail || c.reason.replaceAll("_", " ")}</span>
      ${c.until && html`<p class="hold">held until ${model.clock(c.until)}, in <b>${model.countdown(Date.parse(c.until) - store.now)}</b></p>`}
      ${c.fields.map((f) => html`<p key=${f.path} class="field">${f.path}: <del>${JSON.stringify(f.before)}</del> → <ins>${f.sensitive ? "sensitive" : JSON.stringify(f.after)}</ins></p>`)}</div></li>`)}</ul>
    <h2>Drift</h2>
    ${!p.drift.length && html`<p>None: what runs is what was applied.</p>`}
    <ul>${p.drift.map((d, i) => html`<li key=${i}><span class="symbol" aria-hidden="true">≠</span><div><a href=${model.link(d)}>${d.address}</a> <b>${d.kind.replaceAll("_", " ")}</b> ${d.detail}</div></li>`)}</ul>
    ${[...p.errors, ...p.warnings].length > 0 && html`<h2>Problems</h2><ul>${[...p.errors, ...p.warnings].map((d, i) => html`<li key=${i}><span class="symbol" aria-hidden="true">!</span><div><b>${d.summary}</b> ${d.detail}</div></li>`)}</ul>`}
    <h2>Events</h2><${Events} events=${store.events} named /></section>`;
}

const Events = ({ events, named }) => html`<ol class="events">${events.map((e, i) => {
  const l = model.line(e);
  return html`<li key=${e.id ?? i}><time datetime=${e.time}>${l.time}</time> ${named && html`<a href=${model.link(e, "timeline")}>${e.address}</a> `}<span>${l.text}</span>${e.excerpt && !named && html`<details><summary>screen</summary><pre>${e.excerpt}</pre></details>`}</li>`;
})}</ol>`;

// ---- needs you ----

function Needs() {
  const all = store.sessions.filter((s) => s.needs);
  return html`<section class="needs" aria-label="needs you"><div class="tools"><h2>Needs you</h2>
    ${typeof Notification !== "undefined" && html`<button onClick=${wantNotices} aria-pressed=${localStorage.getItem("notify") === "on"}>Notify me</button>`}</div>
    ${!all.length && html`<p role="status">Nothing needs you.</p>`}
    ${all.map((s) => html`<article key=${s.address}><h3><a href=${model.link(s)}>${s.name}</a> <small>${s.needs.reason.replaceAll("_", " ")} for ${model.span(store.now - Date.parse(s.needs.since))}</small></h3>
      <p class="asked">${s.question?.text ?? s.detail}</p><${Answers} s=${s} />${!s.question && html`<${Verbs} s=${s} />`}</article>`)}</section>`;
}

// ---- report ----

const spans = [[18, "18 hours"], [48, "2 days"], [168, "7 days"]];

function Report() {
  const [hours, setHours] = useState(spans[0][0]);
  const [r, setR] = useState(null);
  useEffect(() => {
    let over = false;
    const since = new Date(Date.now() - hours * 3600e3).toISOString();
    ask(`/v1/report?since=${encodeURIComponent(since)}`).then((x) => over || setR(x), (e) => over || fail(e));
    return () => (over = true);
  }, [hours]);
  return html`<section class="report" aria-label="report"><div class="tools"><h2>Report</h2>
    <label>of the last <select value=${hours} onChange=${(e) => setHours(Number(e.target.value))}>${spans.map(([n, text]) => html`<option key=${n} value=${n}>${text}</option>`)}</select></label>
    <span role="status">${r ? model.headline(r) : "Reading…"}</span></div>
    ${r && r.sessions.length > 0 && html`<div class="scrolls" tabindex="0" role="region" aria-label="sessions"><table><thead><tr>${["Session", "Status", "Result", "Cost", "Waited", "Restarts", "Asked"].map((t) => html`<th key=${t} scope="col">${t}</th>`)}</tr></thead>
      <tbody>${r.sessions.map((x, i) => html`<tr key=${i}><th scope="row">${x.removed_at ? x.name : html`<a href=${model.link(x)}>${x.name}</a>`}</th><td>${x.word}</td>
        <td>${model.result(x)}${x.pr_url && html` <a href=${/^https?:/.test(x.pr_url) ? x.pr_url : undefined} rel="noreferrer">pull request</a>`}</td>
        <td title=${model.priced(x.usage)}>${model.cost(x.usage)}</td><td>${model.waited(x)}</td><td>${x.restarts || ""}</td><td>${x.asked}</td></tr>`)}</tbody></table></div>`}
    ${r && r.needs.length > 0 && html`<h3>Needs attention</h3><ol>${r.needs.map((n) => html`<li key=${n.address}><a href=${model.link(n)}>${n.name}</a> ${n.reason.replaceAll("_", " ")} for ${model.span(store.now - Date.parse(n.since))}${n.detail && `: ${n.detail}`}</li>`)}</ol>`}
    ${r && r.quiet.length > 0 && html`<p>Nothing happened in ${r.quiet.map((a) => a.replace(/^session\./, "")).join(", ")}.</p>`}
    ${r?.unknown.map((text) => html`<p key=${text} class="hold">${text}</p>`)}</section>`;
}

// ---- session ----

const tabs = ["terminal", "conversation", "timeline", "changes", "details"];

function Session({ address, tab }) {
  const s = store.sessions.find((x) => x.address === address);
  if (!s) return html`<section><p role="status">${store.loaded ? `No session ${address} in the state.` : "Reading…"}</p><p><a href="#/">Fleet</a></p></section>`;
  const View = { terminal: TerminalTab, conversation: Conversation, timeline: Timeline, changes: Changes, details: Details }[tab] ?? TerminalTab;
  return html`<section class="session" aria-label=${s.name}>
    <div class="tools"><h2>${s.name}</h2><${State} s=${s} /><${Activity} s=${s} /><span class="branch">${s.branch}</span><${Verbs} s=${s} /></div>
    ${s.over_budget && html`<p class="hold" role="status">${model.held(s, store.now)}</p>`}
    ${s.question && html`<div class="question" role="alert"><p class="asked">${s.question.text}</p><${Answers} s=${s} /></div>`}
    <nav class="tabs" aria-label="views of the session">${tabs.map((t) => html`<a key=${t} href=${model.link(s, t)} aria-current=${t === tab ? "page" : undefined}>${t}</a>`)}</nav>
    <${View} key=${address} s=${s} /></section>`;
}

const rowOfKeys = [["Esc", "\x1b"], ["Tab", "\t"], ["⇧Tab", "\x1b[Z"], ["Ctrl", null], ["←", "\x1b[D"], ["↑", "\x1b[A"], ["↓", "\x1b[B"], ["→", "\x1b[C"], ["⏎", "\r"]];

function TerminalTab({ s }) {
  const element = useRef();
  const shown = useRef();
  const [t, setT] = useState({ status: "connecting", control: "nobody", by: "", viewers: 0, readOnly: true, message: "" });
  const [ctrl, setCtrl] = useState(false);
  const [search, setSearch] = useState("");
  const [starts, setStarts] = useState(0);
  useEffect(() => {
    let over = false;
    import("/terminal.mjs").then(({ SessionTerminal }) => {
      if (!over) shown.current = new SessionTerminal(element.current, s.address, setT);
    });
    return () => {
      over = true;
      shown.current?.dispose();
    };
  }, [starts]);
  const again = () => setStarts(starts + 1);
  const press = (label, data) => {
    if (data === null) {
      shown.current.ctrl = !ctrl;
      setCtrl(!ctrl);
    } else shown.current?.type(data);
    shown.current?.terminal.focus();
  };
  const says = t.status === "gone" ? `The agent has ended. ${t.message}` : t.status === "detached" ? "The terminal was detached." : t.status === "reconnecting" ? `Connecting again… ${t.message}` : t.status === "connecting" ? "Connecting…"
    : t.control === "you" ? "You control this terminal." : t.control === "other" ? `${t.by} controls this terminal; you are watching.` : "You are watching.";
  return html`<div class="terminal-tab">
    <div class="tools terminal-tools"><span role="status" class=${`control ${t.control}`}>${says}${t.viewers > 1 ? ` ${t.viewers} pages show it.` : ""}</span>
      ${t.message && t.status === "connected" && html`<span role="alert">${t.message}</span>`}
      ${t.status === "connected" && !t.readOnly && html`<button class="control" onClick=${() => shown.current.control(t.control !== "you")}>${t.control === "you" ? "Release control" : "Take control"}</button>`}
      ${t.status === "gone" && !s.over_budget && model.restarts(s) && html`<button disabled=${!operates()} onClick=${async () => (await act(`Restarted ${s.name}`, s.address, model.restarts(s), { wait: true })) && again()}>Restart</button>`}
      ${(t.status === "detached" || t.status === "gone") && html`<button onClick=${again}>Connect again</button>`}
      <input type="search" aria-label="search the terminal" placeholder="search" value=${search} onInput=${(e) => (setSearch(e.target.value), shown.current?.find(e.target.value))} onKeyDown=${(e) => e.key === "Enter" && shown.current?.find(search, e.shiftKey)} />
      <label class="reader"><input type="checkbox" onChange=${(e) => shown.current && (shown.current.terminal.options.screenReaderMode = e.target.checked)} /> screen reader</label></div>
    <div class="terminal" key=${starts} ref=${element}></div>
    <div class="key-row" role="toolbar" aria-label="keys">${rowOfKeys.map(([label, data]) => html`<button key=${label} disabled=${t.control !== "you"} aria-pressed=${data === null ? ctrl : undefined} onClick=${() => press(label, data)}>${label}</button>`)}</div></div>`;
}

// useDocument asks for a document now and whenever the session changes.
function useDocument(path, s) {
  const [d, setD] = useState(null);
  const [problem, setProblem] = useState("");
  const mark = `${s.activity} ${s.state} ${s.last_event?.time} ${s.turns} ${s.changes?.counted_at}`;
  useEffect(() => {
    let over = false;
    ask(path).then((x) => over || (setD(x), setProblem("")), (e) => over || setProblem(e.message));
    return () => (over = true);
  }, [path, mark]);
  return [d, problem];
}

function Send({ s }) {
  const [text, setText] = useState("");
  const send = async (e) => {
    e.preventDefault();
    if (text.trim() && (await act(`Sent to ${s.name}`, s.address, "send", { text }))) setText("");
  };
  return html`<form class="send" onSubmit=${send}><textarea rows="2" aria-label=${`send to ${s.name}`} placeholder="send to the agent" value=${text} disabled=${!operates()} onInput=${(e) => setText(e.target.value)} onKeyDown=${(e) => e.key === "Enter" && (e.ctrlKey || e.metaKey) && send(e)}></textarea><button disabled=${!operates()}>Send</button></form>`;
}

function Conversation({ s }) {
  const [d, problem] = useDocument(`${of(s.address)}/data`, s);
  const end = useRef();
  useEffect(() => end.current?.scrollIntoView({ block: "end" }), [d]);
  return html`<div class="conversation">${problem && html`<p role="alert">${problem}</p>`}
    <div class="entries" tabindex="0" role="log" aria-label="conversation">${d && !d.entries.length && html`<p>The agent has no session file: this is its screen.</p><pre>${d.screen.text}</pre>`}
    ${d?.entries.map((e, i) => html`<article key=${i} class=${`entry ${e.kind}`}><b>${e.kind}</b> ${e.at && html`<time>${model.clock(e.at)}</time>`}<pre>${e.text}</pre></article>`)}<span ref=${end}></span></div>
    <${Send} s=${s} /></div>`;
}

function Timeline({ s }) {
  const [d, problem] = useDocument(`${of(s.address)}?events=200`, s);
  return html`<div class="scrolls" tabindex="0" role="region" aria-label="timeline">${problem && html`<p role="alert">${problem}</p>`}<${Events} events=${[...(d?.events ?? [])].reverse()} /></div>`;
}

function Changes({ s }) {
  const [d, problem] = useDocument(`${of(s.address)}/diff`, s);
  const [on, setOn] = useState("");
  const [text, setText] = useState("");
  if (problem) return html`<p role="alert">${problem}</p>`;
  if (!d) return html`<p role="status">Comparing…</p>`;
  const send = async (e, path, l) => {
    e.preventDefault();
    if (text.trim() && (await act(`Sent to ${s.name}`, s.address, "send", { text: model.comment(path, l, text) }))) {
      setOn("");
      setText("");
    }
  };
  const files = model.patch(d.patch);
  return html`<div class="diff scrolls" tabindex="0" role="region" aria-label="changes"><p>${d.branch} against ${d.base || "HEAD"}: ${d.files.length} files, ${d.ahead} commits ahead${s.changes?.behind ? `, ${s.changes.behind} behind` : ""}. <button disabled=${!operates()} onClick=${() => set({ dialog: { land: s } })}>Land…</button>${" "}
    ${s.changes?.behind > 0 && html`<${Refresh} s=${s} disabled=${!operates()} began=${() => set({ trouble: "", notice: "" })} done=${changed} failed=${fail} />`}</p>
    ${model.conflicts(s).map((c) => html`<p key=${c.name} class="conflict">Conflicts with ${c.name} in ${c.files.join(", ")}</p>`)}
    ${d.truncated && html`<p role="alert">The diff is longer than what is shown: agentform diff shows all of it.</p>`}
    <ul class="files">${d.files.map((f) => html`<li key=${f.path}><a href=${`#file-${f.path}`} onClick=${(e) => (e.preventDefault(), document.getElementById(`file-${f.path}`)?.scrollIntoView())}>${f.path}</a> ${f.change} ${f.added != null && html`<ins>+${f.added}</ins> <del>−${f.removed}</del>`}</li>`)}</ul>
    ${files.map((f) => html`<section key=${f.path} class="file" id=${`file-${f.path}`} aria-label=${f.path}><h3>${f.path}</h3>
      ${f.hunks.map((h, i) => html`<div key=${i} class="hunk"><div class="title">${h.title}</div>
        ${h.lines.map((l, j) => {
          const id = `${f.path} ${i} ${j}`;
          return html`<div key=${j} class=${`line ${l.kind}`}><button class="comment" disabled=${!operates()} aria-label=${`comment on line ${l.after ?? l.before} of ${f.path}`} onClick=${() => setOn(on === id ? "" : id)}>${l.after ?? l.before}</button><code>${l.text}</code></div>
          ${on === id && html`<form class="send" onSubmit=${(e) => send(e, f.path, l)}><textarea autofocus rows="2" aria-label="comment" placeholder=${`${f.path}:${l.after ?? l.before}: …`} value=${text} onInput=${(e) => setText(e.target.value)}></textarea><button>Send to the agent</button></form>`}`;
        })}</div>`)}</section>`)}</div>`;
}

function Details({ s }) {
  const [d, problem] = useDocument(of(s.address), s);
  const rows = [
    ["address", s.address], ["role", s.role], ["agent", s.agent], ["runtime", s.runtime], ["declared", model.declared(s)], ["actual", model.actual(s)], ["detail", s.detail], ["held", model.held(s, store.now)], ["branch", s.branch_fault || s.branch],
    ["workspace", s.workspace], ["health", s.unhealthy?.detail || s.health], ["restarts", String(s.restarts)], ["budget", s.restart_budget?.reason && `${s.restart_budget.reason.replaceAll("_", " ")}, ${s.restart_budget.try} of ${s.restart_budget.of}`],
    ["turns", s.turns == null ? "" : String(s.turns)], ["tokens", s.usage ? model.used(s.usage) : s.tokens == null ? "" : String(s.tokens)], ["cost", s.usage && `${model.cost(s.usage)} ${model.priced(s.usage)}`], ["pull request", model.pull(s)], ["conversation", s.conversation_id], ["overridden", s.override ? `by ${s.override.by}` : ""],
  ].filter(([, v]) => v);
  return html`<div class="scrolls" tabindex="0" role="region" aria-label="details">${problem && html`<p role="alert">${problem}</p>`}<dl class="details">${rows.map(([k, v]) => html`<div key=${k}><dt>${k}</dt><dd>${v}</dd></div>`)}</dl>
    ${d?.look_by_hand?.length > 0 && html`<h3>Commands to inspect it yourself</h3><pre>${d.look_by_hand.join("\n")}</pre>`}</div>`;
}

// ---- the page ----

function Door() {
  const [token, setToken] = useState("");
  return html`<form class="door" onSubmit=${(e) => (e.preventDefault(), enter({ token: token.trim() }), setToken(""))}><h1>agentform</h1>
    <p>Open a link from <code>agentform open</code>, or enter the hub's token.</p>${store.trouble && html`<p role="alert">${store.trouble}</p>`}
    <label>Token <input id="token" type="password" autocomplete="off" required value=${token} onInput=${(e) => setToken(e.target.value)} /></label><button>Enter</button></form>`;
}

function turn() {
  const lightNow = document.documentElement.dataset.theme ? document.documentElement.dataset.theme === "light" : matchMedia("(prefers-color-scheme: light)").matches;
  document.documentElement.dataset.theme = lightNow ? "dark" : "light";
  localStorage.setItem("theme", document.documentElement.dataset.theme);
}

function App() {
  const [, count] = useState(0);
  draw = () => count((n) => n + 1);
  if (!store.access) return store.loaded ? html`<main><${Door} /></main>` : html`<header><h1>agentform</h1></header><main aria-busy="true"></main>`;
  const r = store.route;
  const need = store.sessions.filter((s) => s.needs).length;
  const views = [["fleet", "Fleet", "#/"], ["plan", "Plan", "#/plan"], ["needs", `Needs you${need ? ` ${need}` : ""}`, "#/needs"], ["report", "Report", "#/report"]];
  return html`<header><h1>${store.access.project || "agentform"}</h1>
    <nav aria-label="views">${views.map(([v, label, to]) => html`<a key=${v} href=${to} class=${v === "needs" && need ? "need" : ""} aria-current=${r.view === v ? "page" : undefined}>${label}</a>`)}</nav>
    <span role="status" class=${`connection ${store.connected ? "on" : "off"}`}>${store.connected ? "live" : "connecting"}</span>${!operates() && html`<span class="read-only">read-only</span>`}
    <span class="gap"></span><button onClick=${() => set({ dialog: { jump: true } })} aria-keyshortcuts="Control+K">Jump</button><button onClick=${turn} aria-label="light or dark">◐</button><button onClick=${() => set({ dialog: { help: true } })} aria-label="keys">?</button><button onClick=${leave} title=${store.access.by}>Log out</button></header>
  <main>${store.trouble && html`<p class="trouble" role="alert">${store.trouble} <button onClick=${() => set({ trouble: "" })}>Dismiss</button></p>`}
    <p class="notice" role="status">${store.notice}</p>
    ${r.view === "plan" ? html`<${Plan} />` : r.view === "needs" ? html`<${Needs} />` : r.view === "report" ? html`<${Report} />` : r.view === "session" ? html`<${Session} key=${r.address} address=${r.address} tab=${r.tab} />` : html`<${Fleet} />`}</main>
  ${store.dialog?.help ? html`<${Help} />` : store.dialog?.jump ? html`<${Jump} />` : store.dialog?.land ? html`<${Land} s=${store.dialog.land} close=${closeDialog} done=${changed} />` : store.dialog?.landAll ? html`<${LandAll} close=${closeDialog} done=${changed} />` : store.dialog ? html`<${Confirm} d=${store.dialog} />` : null}`;
}

let before = "";
addEventListener("keydown", (e) => {
  if ((e.ctrlKey || e.metaKey) && e.key.toLowerCase() === "k") {
    e.preventDefault();
    return set({ dialog: { jump: true } });
  }
  if (e.ctrlKey || e.metaKey || e.altKey || store.dialog || /^(INPUT|TEXTAREA|SELECT)$/.test(e.target.tagName)) return;
  const goes = before === "g" && { f: "#/", p: "#/plan", n: "#/needs", r: "#/report" }[e.key];
  before = e.key;
  const r = store.route;
  if (goes) location.hash = goes;
  else if (e.key === "?") set({ dialog: { help: true } });
  else if (e.key === "/" && r.view === "fleet") document.getElementById("filter")?.focus();
  else if (e.key === "L" && r.view === "fleet" && operates()) landAll();
  else if ((e.key === "j" || e.key === "k") && r.view === "fleet") step(e.key === "j" ? 1 : -1);
  else if (e.key === "Enter" && r.view === "fleet" && e.target.tagName !== "A" && e.target.tagName !== "BUTTON") {
    const s = model.rows(store.sessions, fleet)[fleet.at]?.session;
    if (s) location.hash = model.link(s);
  } else if (r.view === "session" && tabs[Number(e.key) - 1]) location.hash = model.link(r, tabs[Number(e.key) - 1]);
  else return;
  e.preventDefault();
});
addEventListener("hashchange", () => (location.hash.startsWith("#login=") ? enter() : set({ route: model.route(location.hash), trouble: "", notice: "" })));
setInterval(() => set({ now: Date.now() }), 1000);
setInterval(notify, 1000);
const theme = localStorage.getItem("theme");
if (theme) document.documentElement.dataset.theme = theme;
document.getElementById("page").replaceChildren(); // what was shown until now
render(html`<${App} />`, document.getElementById("page"));
enter();
