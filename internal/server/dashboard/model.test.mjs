import test from "node:test";
import assert from "node:assert/strict";
import { row, counts, line, stream } from "./model.mjs";

const session = (more) => ({
  address: "session.api", state: "running", activity: "working", detail: "", session_alive: true,
  branch: "agents/api", branch_ok: true, branch_live: "agents/api", branch_fault: "", restarts: 0, restart_budget: null, ...more,
});

test("each state has the buttons that make sense in it", () => {
  const of = (more) => row(session(more)).verbs.join(" ");
  assert.equal(of({}), "pause stop");
  assert.equal(of({ state: "paused" }), "resume stop");
  assert.equal(of({ state: "stale", session_alive: false }), "restart-session");
  assert.equal(of({ state: "stopped", session_alive: false }), "start");
  assert.equal(of({ state: "error", session_alive: false }), "start");
  assert.equal(of({ state: "unknown", session_alive: null }), "");
});

test("a blocked one shows its question, as it is", () => {
  const hostile = "<img src=x onerror=alert(1)> proceed?";
  const r = row(session({ activity: "blocked", detail: hostile }));
  assert.equal(r.question, hostile);
  assert.equal(r.detail, "");
  const starts = row(session({ state: "starting", activity: "blocked", detail: "proceed?" }));
  assert.equal(starts.question, "proceed?");
  assert.equal(starts.detail, "");
});

test("one that waits says until when, one that is given up why", () => {
  const waits = row(session({ state: "stale", detail: "stale: session is gone", restarts: 2, restart_budget: { reason: "backing_off", try: 3, of: 5, until: "2026-03-14T14:03:20Z" } }), "UTC");
  assert.equal(waits.restarts, "2");
  assert.equal(waits.next, "next try 14:03:20 (3 of 5)");
  assert.equal(waits.detail, "stale: session is gone");
  assert.equal(row(session({ restart_budget: { reason: "budget_spent", try: 6, of: 5, until: null } })).next, "budget spent");
  assert.equal(row(session({ restart_budget: { reason: "", try: 1, of: 5, until: null } })).next, "");
});

test("a branch that strayed is told", () => {
  assert.equal(row(session({ branch_ok: false, branch_live: "main", branch_fault: "workspace is on \"main\"" })).strayed, "on main");
  assert.equal(row(session({ branch_ok: false, branch_live: "", branch_fault: "workspace is on no branch" })).strayed, "workspace is on no branch");
  assert.equal(row(session({ branch_ok: false, branch_live: "", branch_fault: "workspace is gone" })).strayed, "workspace is gone");
  assert.equal(row(session({ branch_ok: null, branch_fault: "workspace cannot be read: x" })).strayed, "workspace cannot be read: x");
  assert.equal(row(session({ branch_ok: null })).strayed, "");
});

test("counts and lines", () => {
  assert.equal(counts({ stale: 1, running: 6 }), "1 stale, 6 running");
  assert.equal(counts({ running: 6 }, 1), "6 running, 1 on the wrong branch");
  assert.equal(counts({}), "no sessions");
  const e = { time: "2026-03-14T14:03:20Z", address: "session.api", type: "status_changed", old: "running", new: "exited", detail: "killed by SIGKILL at 2026-03-14T14:03:19Z" };
  assert.deepEqual(line(e, "UTC"), { time: "14:03:20", text: "status changed  session.api  running → exited  killed by SIGKILL at 14:03:19" });
  assert.match(line({ ...e, type: "apply_start", action: "restart", reason: "stale", by: "hub" }, "UTC").text, /restart .* stale {2}by hub/);
});

test("events come out whole, however the stream is cut", () => {
  const text = 'retry: 2000\n\n: keep-alive\n\nid: a.1.1\ndata: {"type":"launched","detail":"a\\nb"}\n\nid: a.2.1\ndata: {"type":"ready"}\n\nid: a.3.1\ndata: {"ty';
  for (const size of [1, 7, 1000]) {
    const told = [];
    const take = stream((x) => told.push(x));
    for (let i = 0; i < text.length; i += size) take(text.slice(i, i + size));
    assert.deepEqual(told, [
      { id: "a.1.1", event: { type: "launched", detail: "a\nb" } },
      { id: "a.2.1", event: { type: "ready" } },
    ]);
  }
});
