// What a person does with a session: answers, keys and texts.
import { html, useState } from "./vendor/preact.mjs";
import { ask, of } from "./api.mjs";
import * as model from "./model.mjs";
import { fail, operates, set, store } from "./store.mjs";
import { soon } from "./stream.mjs";

// act sends a request about a session. what is the notice of its success, and doing that until then.
export async function act(what, address, name, body = {}, doing = "") {
  set({ trouble: "", notice: doing });
  try {
    const r = await ask(`${of(address)}/${name}`, body);
    set({ notice: what });
    soon();
    return r;
  } catch (e) {
    set({ notice: "" });
    fail(e);
    return null;
  }
}

// answer answers the question of a session. said is the answer for people.
export async function answer(s, value, said) {
  const body = { answer: value, question: s.question.id };
  if (!(await act(`Answered ${s.name}: ${said}`, s.address, "answer", body))) return;
  const given = { address: s.address, name: s.name, question: s.question.id, said, at: Date.now() };
  set({ answered: [...store.answered.filter((x) => x.address !== s.address), given] });
}

// Answers are the buttons for the question of a session, and a field where a text answers it.
export function Answers({ s, numbered }) {
  const [text, setText] = useState("");
  const q = s.question;
  if (!q) return null;
  const submit = (e) => {
    e.preventDefault();
    if (text.trim()) answer(s, text, text);
    setText("");
  };
  return html`<div class="answers" role="group" aria-label=${`answers to ${s.name}`}>
    ${model.answers(q).map(
      (
        o,
        i,
      ) => html`<button key=${o.answer} class=${o.primary ? "primary" : ""} disabled=${!operates()} title=${o.about}
        onClick=${() => answer(s, o.answer, o.label)}>${numbered && html`<kbd>${i + 1}</kbd>${" "}`}${o.label}
        ${o.about && html`${" "}<small>${o.about}</small>`}</button>`,
    )}
    ${
      model.takesText(q) &&
      html`<form onSubmit=${submit}>
        <input aria-label=${`answer ${s.name} with a text`} value=${text} disabled=${!operates()}
          onInput=${(e) => setText(e.target.value)} placeholder="answer with a text" />
        <button disabled=${!operates()}>Answer</button></form>`
    }
  </div>`;
}

const dialogKeys = ["y", "n", "Enter", "Escape", "Up", "Down"];

// Keys are those for a question whose answers are not known.
export const Keys = ({ s }) =>
  html`<div class="answers" role="group" aria-label=${`keys for ${s.name}`}>${dialogKeys.map(
    (key) =>
      html`<button key=${key} disabled=${!operates()}
        onClick=${() => act(`Sent ${key} to ${s.name}`, s.address, "send", { key })}>${key}</button>`,
  )}</div>`;

// Send is a box for a text to sessions. Where no agent of theirs takes one it says so.
export function Send({ sessions, sent = () => {} }) {
  const [text, setText] = useState("");
  const takes = sessions.some((s) => s.actions.includes("send"));
  const off = !operates() || !takes;
  const hint = takes ? "send to the agent, with Ctrl-Enter" : model.untaken(sessions[0]);
  const names = sessions.map((s) => s.name).join(", ");
  const send = async (e) => {
    e.preventDefault();
    if (!text.trim()) return;
    const all = await Promise.all(sessions.map((s) => act(`Sent to ${names}`, s.address, "send", { text })));
    if (!all.every(Boolean)) return;
    setText("");
    sent();
  };
  const key = (e) => e.key === "Enter" && (e.ctrlKey || e.metaKey) && send(e);
  return html`<form class="send" onSubmit=${send}>
    <textarea rows="2" aria-label=${`send to ${names}`} placeholder=${hint} value=${text} disabled=${off}
      onInput=${(e) => setText(e.target.value)} onKeyDown=${key}></textarea>
    <button class="primary" disabled=${off}>Send</button></form>`;
}
