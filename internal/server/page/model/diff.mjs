// Diffs of git, and comments on their lines.

// patch reads a diff in git's format into files with what is said of them as a whole, hunks, and lines with
// their numbers.
export function patch(text) {
  const files = [];
  let file = null;
  let hunk = null;
  let before = 0;
  let after = 0;
  for (const l of text.split("\n")) {
    if (l.startsWith("diff --git ")) {
      file = { path: named(l), notes: [], hunks: [] };
      hunk = null;
      files.push(file);
      continue;
    }
    if (!file) continue;
    const at = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/.exec(l);
    if (at) {
      [before, after] = [Number(at[1]), Number(at[2])];
      hunk = { title: l, lines: [] };
      file.hunks.push(hunk);
    } else if (!hunk) head(file, l);
    else if (l[0] === "+") hunk.lines.push({ kind: "added", text: l.slice(1), after: after++ });
    else if (l[0] === "-") hunk.lines.push({ kind: "removed", text: l.slice(1), before: before++ });
    else if (l[0] === " ") hunk.lines.push({ kind: "same", text: l.slice(1), before: before++, after: after++ });
  }
  return files;
}

// head reads a line between the names of a file and its first hunk.
function head(file, l) {
  const [, side, path] = /^(---|\+\+\+) (.*)$/.exec(l) ?? [];
  if (side) {
    const plain = unquoted(path.replace(/\t$/, ""));
    if (plain !== "/dev/null") file.path = plain.slice(2);
  } else if (l.startsWith("rename to ")) file.path = unquoted(l.slice(10));
  else if (l.startsWith("rename from ")) file.notes.push(`renamed from ${unquoted(l.slice(12))}`);
  else if (/^(new|deleted) file mode /.test(l)) file.notes.push(l.split(" mode")[0]);
  else if (/^(old|new) mode /.test(l)) file.notes.push(l);
  else if (l.startsWith("Binary files ")) file.notes.push("binary");
}

// named is the path in the first line of a file, where nothing else has it: of what is empty or binary.
function named(l) {
  const quoted = / ("b\/(?:[^"\\]|\\.)*")$/.exec(l);
  if (quoted) return unquoted(quoted[1]).slice(2);
  const names = l.slice("diff --git ".length); // a/NAME b/NAME, for a name that is the same
  const half = names.slice((names.length + 1) / 2);
  return names === `a/${half.slice(2)} ${half}` ? half.slice(2) : l.slice(l.lastIndexOf(" b/") + 3);
}

const escapes = { a: 7, b: 8, t: 9, n: 10, v: 11, f: 12, r: 13, '"': 34, "\\": 92 };

// unquoted is a path as git means it: git quotes bytes above 127 in octal.
export function unquoted(path) {
  if (!path.startsWith('"')) return path;
  const bytes = [];
  for (const [, octal, letter, plain] of path.slice(1, -1).matchAll(/\\([0-7]{3})|\\(.)|([^\\]+)/g)) {
    if (octal) bytes.push(parseInt(octal, 8));
    else if (letter) bytes.push(escapes[letter] ?? letter.charCodeAt(0));
    else bytes.push(...new TextEncoder().encode(plain));
  }
  return new TextDecoder().decode(new Uint8Array(bytes));
}

// comments are remarks on lines as the agent gets them, in one text.
export const comments = (all) =>
  all.map((c) => `${c.path}:${c.line}: ${c.text.trim().replace(/\s*\n\s*/g, " ")}`).join("\n");
