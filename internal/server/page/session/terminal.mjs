// The terminal of a session, and who controls it. Of an agent that has ended it is the last screen.
import { html, useEffect, useRef, useState } from "../vendor/preact.mjs";
import { of } from "../api.mjs";
import * as model from "../model.mjs";
import { useDocument } from "./document.mjs";
import { store } from "../store.mjs";

const rowsOfKeys = [
  ["Esc", "\x1b"],
  ["Tab", "\t"],
  ["⇧Tab", "\x1b[Z"],
  ["Ctrl", null],
  ["⏎", "\r"],
  ["←", "\x1b[D"],
  ["↑", "\x1b[A"],
  ["↓", "\x1b[B"],
  ["→", "\x1b[C"],
];
const unconnected = {
  status: "connecting",
  control: "nobody",
  by: "",
  viewers: 0,
  readOnly: true,
  message: "",
  ctrl: false,
};

// TerminalTab shows the terminal of a run, and that of the next one when the agent is started again. told is called
// with its columns and who controls it.
export function TerminalTab({ s, told }) {
  const [ended, setEnded] = useState(""); // when the run was started whose terminal has ended
  const runs = s.session_alive !== false && s.state !== "paused" && s.state !== "pending" && ended !== s.started_at;
  if (!runs) return html`<${LastScreen} s=${s} again=${() => setEnded("")} />`;
  return html`<${Live} key=${s.started_at} s=${s} told=${told} ended=${() => setEnded(s.started_at)} />`;
}

// LastScreen is what a session had on its screen, with what it is across it.
function LastScreen({ s, again }) {
  const [d, problem] = useDocument(`${of(s.address)}/data`, s);
  const end = useRef();
  useEffect(() => end.current && (end.current.scrollTop = end.current.scrollHeight), [d]);
  return html`<div class="terminal-tab"><div class="tools terminal-tools">
      <span role="status">${model.ended(s, store.now)}</span>
      ${s.session_alive && s.state !== "paused" && html`<button onClick=${again}>Connect again</button>`}</div>
    ${problem && html`<p role="alert">${problem}</p>`}
    <pre class="last-screen" tabindex="0" role="region" aria-label="last screen" ref=${end}>
      ${d ? d.screen.text.trimEnd() || "Nothing was on its screen." : "Reading…"}</pre></div>`;
}

function says(t) {
  if (t.status === "detached") return "The terminal was detached.";
  if (t.status === "reconnecting") return `Connecting again… ${t.message}`;
  if (t.status === "connecting") return "Connecting…";
  if (t.control === "you") return html`You control this terminal.<span class="chord"> Ctrl-Shift-K leaves it.</span>`;
  if (t.control !== "other") return "You are watching.";
  const by = t.by === store.access.by ? "Another page of this browser" : t.by;
  return `${by} controls this terminal; you are watching.`;
}

function Live({ s, told, ended }) {
  const element = useRef();
  const shown = useRef();
  const leave = useRef();
  const [t, setT] = useState(unconnected);
  const [search, setSearch] = useState("");
  const [starts, setStarts] = useState(0);
  useEffect(() => {
    let over = false;
    import("./screen.mjs").then(({ SessionTerminal }) => {
      if (!over)
        shown.current = new SessionTerminal(element.current, s.address, unconnected, setT, () =>
          leave.current?.focus(),
        );
    });
    return () => {
      over = true;
      shown.current?.dispose();
    };
  }, [starts]);
  useEffect(() => t.status === "gone" && ended(), [t.status]);
  useEffect(() => t.cols && told({ cols: t.cols, control: t.control }), [t.cols, t.control]);
  const press = (data) => {
    if (data === null) shown.current?.holdCtrl();
    else shown.current?.type(data);
    shown.current?.terminal.focus();
  };
  const others = t.viewers > 1 ? ` ${t.viewers} pages show it.` : "";
  const found = (e) => e.key === "Enter" && shown.current?.find(search, e.shiftKey);
  const read = (e) => shown.current && (shown.current.terminal.options.screenReaderMode = e.target.checked);
  return html`<div class="terminal-tab">
    <div class="tools terminal-tools">
      <span role="status" class=${`control ${t.control}`}>${says(t)}${others}</span>
      ${t.message && t.status === "connected" && html`<span role="alert">${t.message}</span>`}
      ${
        t.status === "connected" &&
        !t.readOnly &&
        html`<button class="control" ref=${leave} onClick=${() => shown.current.control(t.control !== "you")}>
          ${t.control === "you" ? "Release control" : "Take control"}</button>`
      }
      ${t.status === "detached" && html`<button onClick=${() => setStarts(starts + 1)}>Connect again</button>`}
      <span class="gap"></span>
      <input type="search" aria-label="search the terminal" placeholder="search" value=${search} onKeyDown=${found}
        onInput=${(e) => (setSearch(e.target.value), shown.current?.find(e.target.value))} />
      <label class="reader"><input type="checkbox" onChange=${read} />${" "}screen reader</label></div>
    <div class="terminal" key=${starts} ref=${element} tabindex="0" role="region" aria-label="screen"></div>
    ${
      t.control === "you" &&
      html`<div class="key-row" role="toolbar" aria-label="keys">${rowsOfKeys.map(
        ([label, data]) =>
          html`<button key=${label} aria-pressed=${data === null ? t.ctrl : undefined}
            onClick=${() => press(data)}>${label}</button>`,
      )}</div>`
    }</div>`;
}
