// xterm.js as the page uses it.
import { FitAddon } from "../vendor/addon-fit.mjs";
import { SearchAddon } from "../vendor/addon-search.mjs";
import { Unicode11Addon } from "../vendor/addon-unicode11.mjs";
import { WebLinksAddon } from "../vendor/addon-web-links.mjs";
import { WebglAddon } from "../vendor/addon-webgl.mjs";
import { Terminal } from "../vendor/xterm.mjs";

// xterm.js puts its styles into style elements, which the page's policy forbids. A
// constructed style sheet is code's own and allowed.
const create = document.createElement.bind(document);
document.createElement = (name, options) => {
  if (name !== "style") return create(name, options);
  const e = create("template");
  const sheet = new CSSStyleSheet();
  const replace = (text) => {
    sheet.replaceSync(text);
  };
  Object.defineProperty(e, "textContent", { set: replace, get: () => "" });
  e.remove = () => {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((s) => s !== sheet);
    Element.prototype.remove.call(e);
  };
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  return e;
};

// Only a terminal needs its styles, and it measures letters by them.
await new Promise((done) => {
  const { href } = new URL("../vendor/xterm.css", import.meta.url);
  document.head.append(Object.assign(create("link"), { rel: "stylesheet", href, onload: done, onerror: done }));
});

// Without a graphics processor WebGL is slower than elements, and takes the time of clicks.
const accelerated = create("canvas").getContext("webgl2", { failIfMajorPerformanceCaveat: true }) !== null;

const light = { background: "#ffffff", foreground: "#1f2328", cursor: "#1f2328", selectionBackground: "#b6d7ff" };
const dark = { background: "#0f1115", foreground: "#e6edf3", cursor: "#e6edf3", selectionBackground: "#264f78" };

// openLink shows an agent's link in a new tab, if it is one of the web.
function openLink(_, uri) {
  if (/^https?:\/\//i.test(uri)) window.open(uri, "_blank", "noopener,noreferrer");
}

// theme returns the colors of the page.
function theme() {
  const chosen = document.documentElement.dataset.theme;
  const isLight = chosen ? chosen === "light" : matchMedia("(prefers-color-scheme: light)").matches;
  return isLight ? light : dark;
}

// followTheme gives a terminal the colors of the page when these change, until what it returns is called.
export function followTheme(terminal) {
  const change = () => (terminal.options.theme = theme());
  const chosen = new MutationObserver(change);
  chosen.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  const system = matchMedia("(prefers-color-scheme: light)");
  system.addEventListener("change", change);
  return () => {
    chosen.disconnect();
    system.removeEventListener("change", change);
  };
}

// open shows an empty terminal in an element.
export function open(element, fontSize) {
  const t = new Terminal({
    allowProposedApi: true,
    scrollback: 5000,
    fontSize,
    fontFamily: "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace",
    theme: theme(),
    linkHandler: { activate: openLink },
    disableStdin: false,
    cursorBlink: false,
    minimumContrastRatio: 4.5,
  });
  const fit = new FitAddon();
  const search = new SearchAddon();
  t.loadAddon(fit);
  t.loadAddon(search);
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
  return { terminal: t, fit, search };
}
