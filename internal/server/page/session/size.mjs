// How large a terminal is, and which part of it is seen.
export const base = 13; // px: the size of letters
const least = 6;

// proposed are the columns and rows that a page has room for, in letters of the usual size.
export function proposed({ terminal, fit }) {
  terminal.options.fontSize = base;
  const { cols, rows } = fit.proposeDimensions() ?? terminal;
  return { cols, rows };
}

// resize gives the window of a SessionTerminal the size of the page if the page controls it. Otherwise the
// terminal has the window's size, in letters that fit.
export function resize(x) {
  const t = x.terminal;
  if (!x.element.clientHeight) return; // it is not shown
  const room = proposed(x);
  if (x.state.control === "you") {
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
