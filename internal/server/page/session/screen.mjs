// The terminal of a session: what it prints over a WebSocket, and who controls it.
import { Terminal } from "/vendor/xterm.mjs";
import { FitAddon } from "/vendor/addon-fit.mjs";
import { SearchAddon } from "/vendor/addon-search.mjs";
import { Unicode11Addon } from "/vendor/addon-unicode11.mjs";
import { WebLinksAddon } from "/vendor/addon-web-links.mjs";
import { WebglAddon } from "/vendor/addon-webgl.mjs";
import { of } from "/api.mjs";
import { retry } from "/model.mjs";

// xterm.js puts its styles into style elements, which the page's policy forbids. A
// constructed style sheet is code's own and allowed.
const create = document.createElement.bind(document);
document.createElement = (name, options) => {
  if (name !== "style") return create(name, options);
  const e = create("template");
  const sheet = new CSSStyleSheet();
  Object.defineProperty(e, "textContent", { set: (text) => sheet.replaceSync(text), get: () => "" });
  e.remove = () => {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((s) => s !== sheet);
    Element.prototype.remove.call(e);
  };
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  return e;
};

// Only a terminal needs its styles, and it measures letters by them.
await new Promise((done) => {
  document.head.append(Object.assign(create("link"), { rel: "stylesheet", href: "/vendor/xterm.css", onload: done, onerror: done }));
});

// Without a graphics processor WebGL is slower than elements, and takes the time of clicks.
const accelerated = create("canvas").getContext("webgl2", { failIfMajorPerformanceCaveat: true }) !== null;

const closes = { shutdown: 1001, notReady: 1013, gone: 4001, takenOver: 4002 };
const slow = 128 * 1024; // bytes that are written and not drawn: the hub pauses
const fast = 32 * 1024;
const base = 13; // px
const least = 6;

const light = { background: "#ffffff", foreground: "#1f2328", cursor: "#1f2328", selectionBackground: "#b6d7ff" };
const dark = { background: "#0d1117", foreground: "#e6edf3", cursor: "#e6edf3", selectionBackground: "#264f78" };

// open shows an agent's link in a new tab, if it is one of the web.
function openLink(_, uri) {
  if (/^https?:\/\//i.test(uri)) window.open(uri, "_blank", "noopener,noreferrer");
}

export class SessionTerminal {
  // tell is called with {control, by, viewers, readOnly, closed, message} when that changes.
  constructor(element, address, tell) {
    this.element = element;
    this.address = address;
    this.tell = tell;
    this.state = { control: "nobody", by: "", viewers: 0, readOnly: true, status: "connecting", message: "" };
    this.pending = 0;
    this.paused = false;
    this.tries = 0;
    this.ctrl = false;
    const t = new Terminal({
      allowProposedApi: true, scrollback: 5000, fontSize: base, fontFamily: "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace",
      theme: this.theme(), linkHandler: { activate: openLink }, disableStdin: false, cursorBlink: false, minimumContrastRatio: 4.5,
    });
    this.terminal = t;
    element.terminal = t; // for tests
    this.fit = new FitAddon();
    this.search = new SearchAddon();
    t.loadAddon(this.fit);
    t.loadAddon(this.search);
    t.loadAddon(new Unicode11Addon());
    t.unicode.activeVersion = "11";
    t.loadAddon(new WebLinksAddon(openLink));
    // tmux draws on the alternate screen. It would have no scrollback, so it is not used.
    const alternate = (params) => params.some((p) => p === 47 || p === 1047 || p === 1049);
    t.parser.registerCsiHandler({ prefix: "?", final: "h" }, alternate);
    t.parser.registerCsiHandler({ prefix: "?", final: "l" }, alternate);
    t.open(element);
    if (accelerated) {
      const webgl = new WebglAddon();
      webgl.onContextLoss(() => webgl.dispose());
      t.loadAddon(webgl);
    }
    t.onData((data) => this.type(data));
    this.resized = new ResizeObserver(() => this.resize());
    this.resized.observe(element);
    this.connect();
  }

  theme() {
    const chosen = document.documentElement.dataset.theme;
    const isLight = chosen ? chosen === "light" : matchMedia("(prefers-color-scheme: light)").matches;
    return isLight ? light : dark;
  }

  set(change) {
    this.state = { ...this.state, ...change };
    this.tell(this.state);
  }

  connect() {
    if (this.disposed) return;
    const socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}${of(this.address)}/terminal`);
    socket.binaryType = "arraybuffer";
    this.socket = socket;
    this.pending = 0;
    this.paused = false;
    socket.onmessage = ({ data }) => {
      if (typeof data === "string") this.told(JSON.parse(data));
      else this.print(new Uint8Array(data));
    };
    socket.onclose = ({ code, reason }) => {
      if (this.disposed || this.socket !== socket) return;
      const again = code !== closes.gone && code !== closes.takenOver;
      this.set({ control: "nobody", status: code === closes.gone ? "gone" : again ? "reconnecting" : "detached", message: reason });
      if (again) this.timer = setTimeout(() => this.connect(), retry(this.tries++));
    };
  }

  told(m) {
    if (m.type === "error") return this.set({ message: m.message });
    const had = this.state.control === "you";
    this.tries = 0;
    this.cols = m.cols;
    this.rows = m.rows;
    this.set({ control: m.control, by: m.by, viewers: m.viewers, readOnly: m.read_only, status: "connected", message: "" });
    this.resize(had !== (m.control === "you"));
    if (m.control === "you" && !had) this.terminal.focus();
  }

  print(bytes) {
    this.pending += bytes.length;
    this.terminal.write(bytes, () => {
      this.pending -= bytes.length;
      if (this.paused && this.pending < fast) this.say({ type: "resume" }, (this.paused = false));
    });
    if (!this.paused && this.pending > slow) this.say({ type: "pause" }, (this.paused = true));
  }

  say(m) {
    if (this.socket.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(m));
  }

  // resize gives the window the size of the page if the page controls it. Otherwise the
  // terminal has the window's size, in letters that fit.
  resize() {
    const t = this.terminal;
    if (this.state.control === "you") {
      t.options.fontSize = base;
      const d = this.fit.proposeDimensions();
      if (d && (d.cols !== this.cols || d.rows !== this.rows)) this.say({ type: "resize", cols: d.cols, rows: d.rows });
    } else if (this.cols) {
      t.options.fontSize = base;
      const d = this.fit.proposeDimensions();
      if (d && d.cols < this.cols) t.options.fontSize = Math.max(least, Math.floor((base * d.cols) / this.cols));
    }
    if (this.cols && (t.cols !== this.cols || t.rows !== this.rows)) t.resize(this.cols, this.rows);
  }

  control(take) {
    if (take) {
      this.terminal.options.fontSize = base;
      const d = this.fit.proposeDimensions();
      if (d) this.say({ type: "resize", cols: d.cols, rows: d.rows });
    }
    this.say({ type: "control", take });
  }

  type(data) {
    if (this.state.control !== "you") {
      // What the terminal itself answers to a program's query is nobody's typing.
      if (!data.startsWith("\x1b[") && !data.startsWith("\x1b]") && !data.startsWith("\x1bP")) this.set({ message: "You are watching. Take control to type." });
      return;
    }
    if (this.ctrl && data.length === 1) {
      data = String.fromCharCode(data.toUpperCase().charCodeAt(0) & 0x1f);
      this.ctrl = false;
    }
    this.say({ type: "input", data });
  }

  find(text, back = false) {
    if (!text) return this.search.clearDecorations();
    back ? this.search.findPrevious(text) : this.search.findNext(text);
  }

  dispose() {
    this.disposed = true;
    clearTimeout(this.timer);
    this.resized.disconnect();
    this.socket.close();
    this.terminal.dispose();
  }
}
