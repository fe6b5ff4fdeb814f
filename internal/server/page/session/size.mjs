// How large a terminal is, and which part of it is seen.
export const base = 13; // px: the size of letters
const least = 11; // px: smaller letters cannot be read, so that what has no room is scrolled to
const letter = 0.602; // of the size of letters: their width
const around = 24; // px next to the columns
const most = 0.6; // of the page, for a terminal next to another view

// beside is how wide a terminal is next to another view on a page of a width, in px: as wide as its columns need, and
// as there is room if this page controls it. 0: its letters could not be read.
export function beside(width, { cols, control }) {
  const room = Math.floor(most * width);
  if (!cols || control === "you") return room;
  const needs = (size) => Math.ceil(cols * letter * size) + around;
  return needs(least) > room ? 0 : Math.min(room, needs(base));
}

// kept is the size of letters of a terminal whose control is taken: that in which it was read, unless it is small.
const kept = (size) => (size >= base - 1 ? size : base);

// proposed are the columns and rows that a page has room for, in letters of a size.
function proposed({ terminal, fit }, size = base) {
  terminal.options.fontSize = size;
  const { cols, rows } = fit.proposeDimensions() ?? terminal;
  return { cols, rows };
}

// taken are the columns and rows that a page has room for when it takes control. The letters stay as they were read.
export function taken(x) {
  x.size = kept(x.terminal.options.fontSize);
  return proposed(x, x.size);
}

// resize gives the window of a SessionTerminal the size of the page if the page controls it. Otherwise the
// terminal has the window's size, in letters that fit.
export function resize(x) {
  const t = x.terminal;
  if (!x.element.clientHeight) return; // it is not shown
  const controls = x.state.control === "you";
  const room = proposed(x, controls ? x.size : base);
  if (controls) {
    if (room.cols !== x.cols || room.rows !== x.rows) x.say({ type: "resize", ...room });
  } else if (x.cols) {
    const share = Math.min(1, room.cols / x.cols, room.rows / x.rows);
    t.options.fontSize = Math.max(least, Math.floor(2 * base * share) / 2);
  }
  if (x.cols && (t.cols !== x.cols || t.rows !== x.rows)) t.resize(x.cols, x.rows);
  reveal(t, x.element);
}

// reveal scrolls an element to the row of the cursor of the terminal in it, where agents draw their input
// and dialogs.
export function reveal(t, element) {
  const row = (t.element?.clientHeight ?? 0) / t.rows;
  const below = (t.buffer.active.cursorY + 2) * row;
  const { scrollTop, clientHeight } = element;
  if (below > scrollTop + clientHeight || below - row < scrollTop) element.scrollTop = below - clientHeight;
}
