// The terminal of a session: what it prints over a WebSocket, and who controls it.
import { of } from "../api.mjs";
import { retry } from "../model.mjs";
import { base, resize, reveal, taken } from "./size.mjs";
import { followTheme, open } from "./xterm.mjs";

const closes = { shutdown: 1001, notReady: 1013, gone: 4001, takenOver: 4002 };
const slow = 128 * 1024; // bytes that are written and not drawn: the hub pauses
const fast = 32 * 1024;

export class SessionTerminal {
  // state is that of a terminal that is not connected, and tell is called with it when it changes. leave is
  // called when a person leaves the terminal by its key.
  constructor(element, address, state, tell, leave) {
    this.element = element;
    this.address = address;
    this.tell = tell;
    this.leave = leave;
    this.state = state;
    this.pending = 0;
    this.paused = false;
    this.tries = 0;
    Object.assign(this, open(element, base));
    element.terminal = this.terminal; // for tests
    this.terminal.onData((data) => this.type(data));
    this.terminal.attachCustomKeyEventHandler((e) => this.takes(e));
    this.terminal.onCursorMove(() => reveal(this.terminal, this.element));
    this.unthemed = followTheme(this.terminal);
    this.resized = new ResizeObserver(() => resize(this));
    this.resized.observe(element);
    this.connect();
  }

  set(change) {
    this.state = { ...this.state, ...change };
    this.tell(this.state);
  }

  connect() {
    if (this.disposed) return;
    const socket = new WebSocket(
      `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}${of(this.address)}/terminal`,
    );
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
      this.set({
        control: "nobody",
        status: code === closes.gone ? "gone" : again ? "reconnecting" : "detached",
        message: reason,
      });
      if (again) this.timer = setTimeout(() => this.connect(), retry(this.tries++));
    };
  }

  told(m) {
    if (m.type === "error") return this.set({ message: m.message });
    const had = this.state.control === "you";
    this.tries = 0;
    this.cols = m.cols;
    this.rows = m.rows;
    this.set({
      cols: m.cols,
      control: m.control,
      by: m.by,
      viewers: m.viewers,
      readOnly: m.read_only,
      status: "connected",
      message: "",
    });
    this.terminal.textarea.tabIndex = m.control === "you" ? 0 : -1;
    resize(this);
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

  // takes reports whether the terminal gets a key. While a page only watches, keys are the page's, so
  // that Tab moves on.
  takes(e) {
    const leaves = e.ctrlKey && e.shiftKey && e.key.toLowerCase() === "k";
    if (this.state.control === "you" && !leaves) return true;
    if (e.type !== "keydown") return false;
    if (leaves) {
      e.preventDefault();
      this.leave();
    } else if (e.key.length === 1 && !e.ctrlKey && !e.metaKey && !e.altKey) this.refuse();
    return false;
  }

  refuse() {
    this.set({ message: "Take control to type." });
  }

  holdCtrl() {
    this.set({ ctrl: !this.state.ctrl });
  }

  control(take) {
    if (take) this.say({ type: "resize", ...taken(this) });
    this.say({ type: "control", take });
  }

  type(data) {
    if (this.state.control !== "you") {
      // What the terminal itself answers to a program's query is nobody's typing.
      if (!data.startsWith("\x1b[") && !data.startsWith("\x1b]") && !data.startsWith("\x1bP")) this.refuse();
      return;
    }
    if (this.state.ctrl && data.length === 1) {
      data = String.fromCharCode(data.toUpperCase().charCodeAt(0) & 0x1f);
      this.set({ ctrl: false });
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
    this.unthemed();
    this.socket.close();
    this.terminal.dispose();
  }
}
