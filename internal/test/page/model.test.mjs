// What the page makes of documents, without a browser.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as model from "../../server/page/model.mjs";
import { beside } from "../../server/page/session/size.mjs";

const now = Date.parse("2026-03-14T14:00:00Z");
const ago = (ms) => new Date(now - ms).toISOString();

test("names of files in a diff are those of the files", () => {
  const text = String.raw`diff --git "a/\303\244 \303\266.txt" "b/\303\244 \303\266.txt"
new file mode 100644
--- /dev/null
+++ "b/\303\244 \303\266.txt"
@@ -0,0 +1 @@
+one
diff --git "a/with\"quote" "b/with\"quote"
old mode 100644
new mode 100755
diff --git a/old name b/new name
similarity index 100%
rename from old name
rename to new name
diff --git a/a b/c b/a b/c
Binary files a/a b/c and b/a b/c differ
diff --git a/gone b/gone
deleted file mode 100644
--- a/gone
+++ /dev/null
@@ -1,2 +0,0 @@
-one
--- two`;
  const files = model.patch(text).map((f) => [f.path, f.notes.join(", "), f.hunks.flatMap((h) => h.lines).length]);
  assert.deepEqual(files, [
    ["ä ö.txt", "new file", 1],
    ['with"quote', "old mode 100644, new mode 100755", 0],
    ["new name", "renamed from old name", 0],
    ["a b/c", "binary", 0],
    ["gone", "deleted file", 2],
  ]);
});

test("lines of a diff have the numbers of both sides", () => {
  const [{ hunks }] = model.patch("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -3,2 +5,2 @@ f\n same\n-old\n+new");
  assert.deepEqual(hunks[0].lines, [
    { kind: "same", text: "same", before: 3, after: 5 },
    { kind: "removed", text: "old", before: 4 },
    { kind: "added", text: "new", after: 6 },
  ]);
});

test("comments are one message, a line each", () => {
  const all = [
    { path: "a.go", line: 3, text: " why?\n\nreally " },
    { path: "ä ö.txt", line: 1, text: "no" },
  ];
  assert.equal(model.comments(all), "a.go:3: why? really\nä ö.txt:1: no");
});

const session = (x) => ({ name: "api", address: "session.api", role: "", agent: "", runtime: "", word: "idle", branch: "", branch_live: "", why: "", needs: null, usage: null, started_at: null, ...x });

test("a filter has words of the status, fields, and texts", () => {
  const all = [
    session({ name: "api", role: "builder", word: "asks" }),
    session({ name: "web", role: "builder", word: "wrong branch", branch_live: "feature/x" }),
    session({ name: "docs", role: "writer", word: "idle", why: "limit" }),
  ];
  const named = (filter) => model.rows(all, { filter }).map((r) => r.session.name).join();
  assert.equal(named("is:asks"), "api");
  assert.equal(named("is:wrong-branch role:Builder"), "web");
  assert.equal(named("branch:feature"), "web");
  assert.equal(named("limit"), "docs");
  assert.equal(named("feature/x"), "web");
  assert.equal(named("is:asks is:idle"), "");
  all[0].conflicts = [{ with: "session.web", files: ["a"] }];
  assert.equal(named("conflict"), "api");
  assert.equal(named("conflicts with web"), "api");
  assert.deepEqual(model.absent(all, "is:wrong-branch api role:writer"), []);
  assert.deepEqual(model.absent(all, "is:ask role:writers"), ["No session has is:ask. There are is:asks, is:wrong-branch, is:idle.", "No session has role:writers. There are role:builder, role:writer."]);
  assert.deepEqual(model.absent([session({})], "role:x"), ["No session has role:x. There is none."]);
  assert.equal(model.toggled("role:builder is:asks", "wrong branch"), "role:builder is:wrong-branch");
  assert.equal(model.toggled("role:builder is:asks", "asks"), "role:builder");
});

test("rows are sorted and grouped, and keep their order where they are equal", () => {
  const all = [session({ name: "b", role: "x", usage: { cost: 2 } }), session({ name: "a" }), session({ name: "c", role: "x", usage: { cost: 2 } })];
  const names = (options) => model.rows(all, options).map((r) => r.session?.name ?? `${r.group} ${r.count}`).join();
  assert.equal(names({}), "b,a,c");
  assert.equal(names({ sort: "session", descending: true }), "c,b,a");
  assert.equal(names({ sort: "cost", descending: true }), "b,c,a");
  assert.equal(names({ group: "role" }), "none 1,a,x 2,b,c");
});

test("what has changed is merged in the order of all", () => {
  const named = (...names) => names.map((name) => session({ name, address: name }));
  const names = (all) => all.map((s) => s.name).join("");
  const all = named("a", "b", "c", "d", "e");
  assert.equal(names(model.merged(all, { version: "x.2", sessions: named("b", "a") })), "ba", "a document of all replaces what was known");
  assert.equal(names(model.merged(all, { since: "x.1", version: "x.1", sessions: [] })), "abcde");
  const needy = { ...all[3], word: "asks" };
  const next = model.merged(all, { since: "x.1", version: "x.2", sessions: [needy], indexes: [0], removed: ["b"] });
  assert.equal(names(next), "dace");
  assert.equal(next[0], needy);
  assert.equal(next[1], all[0], "the others are the same objects, which are not drawn again");
  assert.equal(names(model.merged(next, { since: "x.2", version: "x.3", sessions: named("e", "f", "d"), indexes: [1, 2, 4] })), "aefcd");
  assert.equal(names(model.merged(next, { since: "x.2", version: "x.3", sessions: [], removed: ["d", "a", "c", "e"] })), "");
});

test("events are sorted by their time, and keep their order where it is the same", () => {
  const e = (id, time) => ({ id, time: `2026-03-14T09:00:${time}Z` });
  const all = [e("a", "10.5"), e("b", "09"), e("c", "10.5"), e("d", "10")];
  assert.equal(model.youngest(all).map((x) => x.id).join(""), "acdb");
});

test("a problem that is a difference, too, is listed with the differences alone", () => {
  const drift = [{ address: "s.a", kind: "branch_mismatch", detail: "is on x" }, { address: "s.b", kind: "stale", detail: "exited" }];
  const problem = (address) => ({ address, summary: "branch mismatch", detail: "is on x, to fix it: switch" });
  const d = model.differing({ drift, errors: [problem("s.a")], warnings: [problem("s.c")] });
  assert.deepEqual(d.drift.map((x) => x.detail), ["is on x, to fix it: switch", "exited"]);
  assert.deepEqual(d.problems.map((x) => x.address), ["s.c"]);
});

test("a timeline has the events of each entry, the youngest first", () => {
  const d = { events: [1, 2, 3, 4], timeline: [{ text: "created", events: 3 }, { text: "turn ended", events: 1 }] };
  assert.deepEqual(model.timeline(d), [{ text: "turn ended", events: [4] }, { text: "created", events: [1, 2, 3] }]);
  assert.deepEqual(model.timeline({ events: [], timeline: [] }), []);
});

test("a view has an address, and a damaged address is the fleet", () => {
  for (const hash of ["#/s/%/x", "#/nowhere", "", "#/s/"]) assert.equal(model.route(hash).view, "fleet", hash);
  const s = { address: 'session.worker["a/b"]' };
  assert.deepEqual(model.route(model.link(s, "changes")), { view: "session", address: s.address, tab: "changes" });
  const shape = { view: "fleet", filter: "is:asks a&b", sort: "cost", descending: true, group: "role" };
  assert.deepEqual(model.route(model.fleetLink(shape)), shape);
  assert.equal(model.fleetLink(model.route("#/")), "#/");
});

test("a word has its note, its age or its end behind it", () => {
  const text = (x) => model.text(session(x), now);
  assert.equal(text({ word: "exited", word_note: "(3)" }), "exited (3)");
  assert.equal(text({ word: "working", word_since: ago(180e3) }), "working 3m");
  assert.match(text({ word: "limit", word_until: ago(-3600e3) }), /^limit until (\w+ \d+ \w+ )?\d\d:\d\d$/);
  assert.equal(text({ word: "asks" }), "asks");
});

test("a span begins some hours ago, or at midnight", () => {
  assert.equal(model.begin("", now), "");
  assert.equal(model.begin("48", now), new Date(now - 48 * 3600e3).toISOString());
  const today = new Date(model.begin("today", now));
  assert.deepEqual([today.toDateString(), today.toTimeString().slice(0, 8)], [new Date(now).toDateString(), "00:00:00"]);
});

test("what this login did is done by you", () => {
  const me = "page 33 (Chrome on Linux)";
  assert.equal(model.local(`paused by ${me} at 9, by ${me}`, now, me), "paused by you at 9, by you");
  assert.equal(model.local("by page 3348", now, "page 33"), "by page 3348", "another login");
  assert.equal(model.local(`by ${me}`, now), `by ${me}`);
});

test("an error is a sentence with what to do", () => {
  assert.equal(model.sentence("it is wrong\n  enter another"), "It is wrong: enter another.");
  assert.equal(model.sentence("The hub does not answer."), "The hub does not answer.");
});

test("times in texts are clocks", () => {
  const text = model.local("next try 2026-03-14T13:59:00.123456789Z (2 of 3)", now);
  assert.match(text, /^next try \d\d:\d\d:\d\d \(2 of 3\)$/);
});

test("one verb restarts, and each verb of several has the sessions that have it", () => {
  const stale = session({ name: "a", actions: ["restart-session", "restart", "stop"] });
  const asks = session({ name: "b", actions: ["answer", "restart", "pause", "stop"] });
  assert.deepEqual(model.verbs(stale).map((v) => v.label), ["Restart", "Stop"]);
  const shared = model.shared([stale, asks]).map((x) => `${x.verb.name} ${x.sessions.length}`);
  assert.deepEqual(shared, ["restart-session 1", "stop 2", "pause 1", "restart 1"]);
});

test("the verbs of several keep their places", () => {
  const names = (...all) => model.offered(all.map((actions, i) => session({ name: String(i), actions }))).map((x) => `${x.verb.label} ${x.sessions.length}`);
  assert.deepEqual(names(["send", "pause", "restart", "stop"]), ["Send 1", "Pause 1", "Resume 0", "Start 0", "Restart 1", "Stop 1"]);
  assert.deepEqual(names(["resume", "restart", "stop"]), ["Send 0", "Pause 0", "Resume 1", "Start 0", "Restart 1", "Stop 1"]);
  assert.deepEqual(names(["restart-session"]), ["Send 0", "Pause 0", "Resume 0", "Start 0", "Restart 1", "Stop 0"]);
  assert.deepEqual(names(["restart-session"], ["restart", "stop"]), ["Send 0", "Pause 0", "Resume 0", "Start 0", "Restart 1", "Stop 1", "Restart 1"]);
});

test("bringing a base into a branch says how", () => {
  const x = { branch: "agents/api", base: "main", commits: 2, already: false };
  assert.equal(model.refreshing({ ...x, method: "merge" }), "2 commits of main will be merged into agents/api.");
  assert.equal(model.refreshing({ ...x, method: "rebase" }), "agents/api will be rebased onto 2 commits of main.");
  assert.equal(model.refreshing({ ...x, already: true }), "agents/api has all of main already.");
});

test("a session that has ended says when", () => {
  const ended = (x) => model.ended(session({ session_alive: false, started_at: ago(1e6), ...x }), now);
  assert.match(ended({ exit: { code: 3, at: ago(60e3) } }), /^Its agent has ended at .*\d\d:\d\d\.$/);
  assert.equal(ended({ started_at: null }), "It has not started yet.");
});

test("a pull request is shown with how it is", () => {
  const pr = { number: 12, url: "https://github.com/shop/api/pull/12", state: "open", checks: "failed", reviews: 2, round: 1, rounds: 3 };
  assert.equal(model.pull({ pr, pr_url: pr.url }), `${pr.url} (open, checks failed, 2 reviews, sent 1/3)`);
  assert.equal(model.pull({ pr: { ...pr, checks: "", reviews: 0, round: 0 } }), `${pr.url} (open)`);
  assert.equal(model.pull({ pr: { number: 0 }, pr_url: "" }), "");
});

test("a card that needs nobody keeps its place while it stays, and none moves while they are held", () => {
  const named = (...names) => names.map((name) => session({ name, address: name, needs: { since: ago(0) } }));
  const cards = (before, needy, stays, held) => model.cards(named(...before), named(...needy), (s) => stays.includes(s.name), held).map((s) => s.name + (s.needs ? "" : "!")).join(" ");
  assert.equal(cards("", "ab", "", false), "a b");
  assert.equal(cards("abc", "ac", "b", false), "a b! c");
  assert.equal(cards("abc", "ca", "", false), "c a");
  assert.equal(cards("abc", "dca", "b", true), "a b! c d");
  assert.equal(cards("abc", "dc", "ab", false), "a! b! d c");
});

test("verbs that end an agent come last, and say what becomes of the work", () => {
  const all = [session({ name: "a", kept: "Its turn is cut off.", actions: ["restart", "pause", "stop"] }), session({ name: "b", kept: "Kept.", actions: ["pause", "stop"] }), session({ name: "c", kept: "Kept.", actions: [] })];
  assert.deepEqual(model.verbs(all[0]).map((v) => `${v.label} ${v.ends ?? false}`), ["Pause false", "Restart true", "Stop true"]);
  const asked = (some, name) => model.asked(some, model.verbs(all[0]).find((v) => v.name === name));
  assert.equal(asked([all[0]], "restart"), "Its turn is cut off.");
  assert.equal(asked([all[0]], "pause"), "");
  assert.equal(asked(all, "stop"), "a: Its turn is cut off.\nb, c: Kept.\nThey stay stopped until they are started.");
  assert.equal(asked([all[1]], "stop"), "Kept. It stays stopped until it is started.");
  assert.equal(asked(all, "pause"), "a, b, c");
});

test("the first answer is the one to press, unless it permits something", () => {
  const primary = (...options) => model.answers({ options }).map((o) => o.primary);
  assert.deepEqual(primary({ number: 1, word: "yes", label: "Yes" }, { number: 2, word: "no", label: "No" }), [false, false]);
  assert.deepEqual(primary({ number: 1, label: "Postgres" }, { number: 2, label: "SQLite" }), [true, false]);
});

test("what is not committed needs a message, and what is there can be landed", () => {
  assert.equal(model.unsaved("1 untracked file"), "It has 1 untracked file: write a message to commit it first.");
  assert.equal(model.unsaved("1 uncommitted change, 1 untracked file"), "It has 1 uncommitted change, 1 untracked file: write a message to commit them first.");
  const none = { added: 0, removed: 0, untracked: 0, ahead: 0 };
  assert.equal(model.lands({ changes: none }), false);
  assert.equal(model.lands({ changes: { ...none, ahead: 1 } }), true);
  assert.equal(model.lands({ changes: { ...none, ahead: 1 } }, { files: [], ahead: 0 }), false, "the diff is younger");
  assert.equal(model.lands({ changes: none }, { files: [{}], ahead: 0 }), true);
});

test("a session that takes no text says why", () => {
  const why = (...actions) => model.untaken(session({ actions }));
  assert.equal(why("answer", "stop"), "Its agent asks: answer that first.");
  assert.equal(why("resume", "stop"), "It is paused: resume it to send it a text.");
  assert.equal(why("restart-session"), "Its agent does not run: start it to send it a text.");
});

test("a terminal next to another view is as wide as its columns need, or is not there", () => {
  assert.equal(beside(1440, {}), 864, "its columns are not known yet");
  assert.equal(beside(1440, { cols: 80, control: "nobody" }), 651);
  assert.equal(beside(1440, { cols: 80, control: "you" }), 864);
  assert.equal(beside(1440, { cols: 120, control: "other" }), 864, "its letters are smaller");
  assert.equal(beside(1440, { cols: 150, control: "other" }), 0);
});

