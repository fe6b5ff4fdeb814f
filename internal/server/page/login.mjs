// Logging in and out.
import { html, useState } from "./vendor/preact.mjs";
import { ask } from "./api.mjs";
import * as model from "./model.mjs";
import { fail, set, store } from "./store.mjs";
import { listen, refresh } from "./stream.mjs";

const left = "#left"; // the address of a page that has logged out

// enter logs in by the link that opened the page, if there is one, and begins.
export async function enter(login) {
  const code = /^#login=([0-9a-f]+)$/.exec(location.hash);
  if (code) {
    history.replaceState(null, "", location.pathname);
    login = { code: code[1] };
    set({ route: model.route("") });
  }
  if (location.hash === left) {
    history.replaceState(null, "", location.pathname);
    set({ left: true });
  }
  if (!login) refresh(); // its answer comes while that of access does
  try {
    const access = login ? await ask("/v1/login", login) : await ask("/v1/access");
    set({ access, trouble: "", left: false });
    if (login) refresh();
    listen();
  } catch (e) {
    set({ access: null, loaded: true, trouble: login ? e.message : e.status === 401 ? "" : e.message });
  }
}

// leave ends the login. A new start of the page forgets all that it has shown.
export async function leave() {
  try {
    await ask("/v1/logout", {});
    history.replaceState(null, "", location.pathname + left);
    location.reload();
  } catch (e) {
    set({ dialog: null });
    fail(e);
  }
}

// Door asks for a token where no link has logged in.
export function Door() {
  const [token, setToken] = useState("");
  const submit = (e) => {
    e.preventDefault();
    enter({ token: token.trim() });
    setToken("");
  };
  return html`<form class="door" onSubmit=${submit}><h1>agentform</h1>
    <p>Open a link from <code>agentform open</code>, or enter the hub's token.</p>
    ${store.left && !store.trouble && html`<p role="status">You are logged out.</p>`}
    ${store.trouble && html`<p role="alert" class="trouble">${model.sentence(store.trouble)}</p>`}
    <label>Token <input id="token" type="password" autocomplete="off" required value=${token}
      onInput=${(e) => setToken(e.target.value)} /></label><button>Enter</button></form>`;
}
