// The page in a real Chromium, with a hub and sessions in tmux: make check-page.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createServer } from "node:http";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, afterEach, before, test } from "node:test";
import { accessible, control, echoes, launch, program, says, screen, shows, type } from "./browser.mjs";
import { Fleet, until } from "./fleet.mjs";

const screenshots = process.env.SCREENSHOTS;
let fleet;
let browser;
let contexts = [];
const problems = [];
const axeStyles = /7lcAFTTX46zOrxZLMSuzSViHzgeRbtPZdXQzzVFOlL8=|hUp8D7cOixoIPBZ5ergnKZ\+xh0T1rTTyJ7SDN\+Myk8Y=/; // axe-core adds them to the document

// open returns a page that has logged in by a new link, at a view.
async function open({ view = "", size = { width: 1280, height: 800 }, link, dark = false, touch = false, to = fleet } = {}) {
  const context = await browser.newContext({ viewport: size, colorScheme: dark ? "dark" : "light", hasTouch: touch, isMobile: touch });
  contexts.push(context);
  const page = await context.newPage();
  page.setDefaultTimeout(Number(process.env.PATIENCE ?? 30000));
  page.on("pageerror", (e) => problems.push(e.message));
  page.on("console", (m) => /Content Security|TrustedType|Refused to/i.test(m.text()) && !axeStyles.test(m.text()) && problems.push(m.text()));
  await page.goto(link ?? (await to.newLink()));
  await page.waitForSelector("header nav");
  if (view) await page.evaluate((v) => (location.hash = v), view);
  return page;
}

const shot = (page, name) => screenshots && page.screenshot({ path: join(screenshots, `${name}.png`) });

const goldens = new URL("testdata/", import.meta.url);

// structured compares the roles, names and texts of a view with those recorded, without times,
// numbers and names of this run. UPDATE=1 records them.
async function structured(page, view, where = "body") {
  const lines = (await page.locator(where).ariaSnapshot()).replaceAll(fleet.dir, "DIR").split("\n")
    .map((l) => l.replace(/\b[0-9a-f]{8,}\b|-[0-9a-f]{6}(?=\/)/g, "ID").replace(/\d+/g, "0").replace(/\b0(s|m|h0m|d)\b/g, "AGE"));
  const events = lines.findIndex((l) => /listitem/.test(l) && view === "plan"); // they are in another order each time
  const text = `${lines.slice(0, events < 0 ? undefined : events).filter((l, i) => l !== lines[i - 1]).join("\n")}\n`;
  const file = new URL(`${view}.yaml`, goldens);
  if (process.env.UPDATE) writeFileSync(file, text);
  assert.equal(text, readFileSync(file, "utf8"), `${view}: UPDATE=1 make check-page records it`);
}

before(async () => {
  assert.ok(existsSync(program), `there is no ${program}: install chromium (apt-get install chromium), or set CHROMIUM`);
  if (screenshots) mkdirSync(screenshots, { recursive: true });
  fleet = new Fleet();
  await fleet.agentform("apply", "--auto-approve", "--wait");
  await fleet.serve();
  browser = await launch();
});
afterEach(async () => {
  for (const c of contexts) await c.close();
  contexts = [];
  assert.deepEqual(problems.splice(0), []);
});
after(async () => {
  await browser?.close();
  await fleet?.remove();
});

test("a link logs in once and does not stay in the address", async () => {
  const link = await fleet.newLink();
  const page = await open({ link });
  assert.equal(new URL(page.url()).hash, "");
  const [cookie] = await page.context().cookies();
  assert.ok(cookie.httpOnly && cookie.sameSite === "Strict", JSON.stringify(cookie));
  const other = await (await browser.newContext()).newPage();
  contexts.push(other.context());
  await other.goto(link);
  await says(other, "a link works once");
  await other.fill("#token", readFileSync(join(fleet.shop, ".agentform/hub.token"), "utf8").trim());
  await other.click('button:text-is("Enter")');
  await other.waitForSelector(".row a");
});

test("logging out ends the login of the browser, and of a copy of its cookie", async () => {
  const page = await open();
  await page.waitForSelector(".row a");
  const [{ name, value }] = await page.context().cookies();
  const copy = () => fetch(new URL("/v1/access", page.url()), { headers: { Cookie: `${name}=${value}` } });
  assert.equal((await copy()).status, 200);
  await page.click('button:text-is("Logins")');
  await page.click('dialog button:text-is("Log out")');
  await page.waitForSelector("#token");
  await says(page, "You are logged out.", "[role=status]");
  assert.equal(new URL(page.url()).hash, "");
  assert.equal(await page.locator(".row").count(), 0);
  assert.equal((await copy()).status, 401);
  assert.deepEqual(await page.context().cookies(), []);
});

test("the logins are listed, and each can be ended", async () => {
  const phone = await open({ link: await fleet.newLink("--name", "my phone"), size: { width: 360, height: 740 }, touch: true });
  const reader = await open({ link: await fleet.newLink("--read-only", "--name", "second screen"), dark: true });
  const page = await open();
  await page.waitForSelector(".row a");
  const own = await page.getAttribute('button:text-is("Logins")', "title");
  await page.focus('button:text-is("Logins")');
  await page.keyboard.press("Enter");
  const dialog = page.locator('dialog[aria-label="Logins"]');
  const entry = (name) => dialog.locator("li", { hasText: `page ${name} (Chrome on ` });
  await entry("my phone").waitFor();
  assert.match(await entry("my phone").locator("small").textContent(), /^operate · used \d+s ago · since \d\d:\d\d · ends \w+ \d+ \w+ \d\d:\d\d$/);
  assert.match(await entry("second screen").locator("small").textContent(), /^read · /);
  assert.match(await dialog.locator("li[aria-current]").textContent(), /operate · this browser .*Log out$/);
  assert.ok((await dialog.locator("li[aria-current] b").textContent()) === own);
  await accessible(page, "logins");
  await shot(page, "logins");

  await reader.click('button:text-is("Logins")');
  await says(reader, "page second screen", "dialog");
  assert.deepEqual(await reader.locator("dialog button").allTextContents(), ["Log out", "Close"]);
  await accessible(reader, "logins for reading, in the dark");
  await phone.click('button:text-is("More")');
  await phone.click('dialog button:text-is("Logins")');
  await says(phone, "my phone", "dialog");
  const box = await phone.locator("dialog").boundingBox();
  assert.ok(box.x >= 0 && box.x + box.width <= 360 && box.y >= 0 && box.y + box.height <= 740, JSON.stringify(box));
  assert.ok(await phone.evaluate(() => [...document.querySelectorAll("dialog, dialog ul")].every((e) => e.scrollWidth <= e.clientWidth)));
  await accessible(phone, "logins on a phone");

  await entry("my phone").locator("button").focus();
  await page.keyboard.press("Enter");
  await says(page, "page my phone (Chrome on ", "dialog [role=status]");
  assert.equal(await entry("my phone").count(), 0);
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Close");
  await phone.waitForSelector("#token");
  await page.route("**/v1/logins/*/end", (route) => route.fulfill({ status: 500, json: { error: { code: "failed", message: "the login has ended, but is valid again", next: "" } } }));
  await entry("second screen").locator("button").click();
  await says(page, "valid again", "dialog [role=alert]");
  await page.unroute("**/v1/logins/*/end");
  await entry("second screen").locator("button").click();
  await reader.waitForSelector("#token");
  assert.equal(await dialog.locator("[role=alert]").count(), 0);
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  assert.equal(await page.evaluate(() => document.activeElement.textContent.trim()), "Logins");
});

test("the fleet shows, filters, sorts and groups, in the words of the command line", async () => {
  const page = await open();
  await page.waitForSelector('.row a:text-is("web")');
  const d = await fleet.json("status");
  for (const s of d.sessions) await says(page, s.name, ".table");
  const counts = {};
  for (const s of d.sessions) counts[s.word] = (counts[s.word] ?? 0) + 1;
  const chips = await page.locator(".chip").allTextContents();
  assert.deepEqual(chips.map((c) => c.trim()).sort(), Object.entries(counts).map(([word, n]) => `${n} ${word}`).sort());
  for (const s of d.sessions) assert.equal((await row(page, s.name).locator(".word").textContent()).replace(/ \d+[smh].*/, ""), s.word);
  await accessible(page, "fleet");
  await page.keyboard.press("/");
  await page.keyboard.type("role:builder");
  await page.waitForFunction(() => document.querySelectorAll(".rows .row").length === 1);
  assert.equal(new URL(page.url()).hash, "#/?q=role%3Abuilder");
  await page.reload();
  await page.waitForSelector('.row a:text-is("web")');
  assert.equal(await page.locator(".rows .row").count(), 1);
  await page.fill("#filter", "role:bilder");
  await says(page, "No session has role:bilder. There are role:default, role:builder.", ".empty");
  await page.fill("#filter", "");
  await page.click(`.chip >> nth=0`);
  assert.equal(await page.locator(".rows .row").count(), Number(chips[0].trim().split(" ")[0]));
  await page.click(`.chip >> nth=0`);
  await page.selectOption("select", "role");
  await says(page, "builder 1", ".rows");
  assert.deepEqual(await page.locator(".row.group > span").evaluateAll((all) => all.filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.textContent)), [], "headings are cut");
  await page.selectOption("select", "");
  await page.waitForFunction(() => document.querySelectorAll(".rows .row").length === 4);
  const names = () => page.locator(".rows .row").evaluateAll((r) => r.sort((a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top).map((x) => x.querySelector("a").textContent));
  await page.click('.head button:has-text("Session")');
  await page.click('.head button:has-text("Session")');
  assert.deepEqual(await names(), ["web", "shell", "cat", "api"]);
});

test("each view has its structure", async () => {
  const page = await open();
  for (const name of ["api", "cat", "shell", "web"]) await page.waitForSelector(`.row a:text-is("${name}")`);
  await until("all are at rest", async () => (await fleet.json("status")).sessions.every((s) => s.state === "running" && s.activity !== "working"));
  await page.waitForSelector(".connection.on");
  await structured(page, "fleet");
  const at = async (hash, text) => {
    await page.evaluate((h) => (location.hash = h), hash);
    await says(page, text);
  };
  await at("#/plan", "Nothing: every session is as it was applied");
  await structured(page, "plan", "section.plan");
  await at("#/needs", "Notify me");
  await structured(page, "needs", ".needs .tools");
  await at("#/s/session.shell/terminal", "You are watching");
  await structured(page, "terminal", ".terminal-tools");
  await structured(page, "session", "nav.tabs");
  await page.evaluate(() => (location.hash = "#/s/session.api/conversation"));
  await page.waitForSelector(".conversation .entries > *");
  await structured(page, "conversation", ".send");
  await at("#/s/session.shell/timeline", "created by");
  assert.doesNotMatch(await page.textContent(".events > li:last-child summary"), /launched/); // a line for all of it
  await page.click(".events > li:last-child summary");
  await says(page, "launched", ".events details[open] .steps");
  await at("#/s/session.shell/changes", "commits ahead");
  await structured(page, "changes", ".diff");
  await at("#/s/session.shell/details", "Commands to inspect it yourself");
  await structured(page, "details", "dl.details");
  await page.keyboard.press("?");
  await page.waitForSelector("dialog[open]");
  await structured(page, "keys", "dialog");
});

test("a hub that is not well says why, and nothing when it is well again", async () => {
  const page = await open();
  await page.waitForSelector(".row a");
  const alerts = page.locator("[role=alert]");
  assert.equal(await alerts.count(), 0);
  let fault = "it repairs nothing, since the state cannot be read: <b>EOF";
  await page.route("**/v1/sessions?ranked=true*", async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: { ...(await response.json()), hub_fault: fault } });
  });
  await says(page, "The hub is not well: it repairs nothing, since the state cannot be read: <b>EOF", "[role=alert]");
  await accessible(page, "a hub that is not well");
  fault = "";
  await alerts.waitFor({ state: "detached" });
});

// row is the row of a session in the fleet.
const row = (page, name) => page.locator(".rows .row", { has: page.locator(`a:text-is("${name}")`) });

test("drift is shown where there is drift", async () => {
  const page = await open();
  const { sessions } = await fleet.json("status", "cat");
  execFileSync("git", ["checkout", "-qb", "elsewhere"], { cwd: sessions[0].workspace, env: fleet.env });
  await row(page, "cat").locator('.word:text-is("wrong branch")').waitFor();
  assert.match(await row(page, "cat").locator(".c-now").textContent(), /elsewhere/);
  assert.equal(await row(page, "cat").locator(".differs").count(), 1);
  assert.equal(await row(page, "shell").locator(".differs").count(), 0);
  await page.evaluate(() => (location.hash = "#/plan"));
  await says(page, "branch mismatch");
  assert.equal(await page.locator('.plan h2:text-is("Problems")').count(), 0); // Drift has it
  await says(page, "to fix it: git -C", ".plan");
  await says(page, "switch agents/cat", ".plan code"); // it looks like a command
  const times = await page.locator(".events time").evaluateAll((all) => all.map((t) => Date.parse(t.dateTime)));
  assert.ok(times.length > 3 && times.every((t, i) => !i || t <= times[i - 1]), `${times}`);
  await accessible(page, "plan");
  execFileSync("git", ["checkout", "-q", "agents/cat"], { cwd: sessions[0].workspace, env: fleet.env });
});

test("a question is answered in two clicks, and its event is on the screen", async () => {
  const page = await open();
  await page.waitForSelector('.row a:text-is("web")');
  await page.evaluate(() => {
    const seen = (window.seen = {});
    new MutationObserver(() => {
      if (!seen.blocked && document.querySelector(".row .word.attention")) seen.blocked = Date.now();
    }).observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true });
  });
  await fleet.agentform("send", "web", "ask touch x");
  await page.waitForSelector(".row .word.attention");
  const events = (await fleet.agentform("events", "web", "--json")).trim().split("\n").map((l) => JSON.parse(l));
  const event = events.filter((e) => e.type === "status_changed" && e.new === "blocked").at(-1);
  const late = (await page.evaluate(() => window.seen.blocked)) - Date.parse(event.time);
  console.log(`event on screen after ${late} ms`);
  const needs = await fleet.json("next", "--all");
  await page.click("nav >> text=Needs you");
  await says(page, 'run "touch x"?');
  await says(page, "Do you want to proceed?", "article .screen"); // the end of its screen is above the question
  assert.deepEqual(await page.locator("article h3 a").allTextContents(), (needs.sessions ?? needs.needs ?? needs).map((n) => n.name ?? n.address.replace("session.", "")));
  await accessible(page, "needs");
  await page.click('.answers button:has-text("yes")');
  await until("the agent has the answer", async () => (await fleet.agentform("logs", "web")).includes("the answer was 1"));
  await page.waitForFunction(() => !document.querySelector(".answers"));
  await says(page, "Answered web: yes");
  await page.evaluate(() => (location.hash = "#/s/session.web/timeline"));
  await page.click(".events details >> nth=0"); // the screen at that moment
  await says(page, "touch x", ".events details[open] pre");
});

test("the report shows what became of the sessions, what they waited for, and who needs you", async () => {
  await fleet.agentform("send", "api", "ask touch y");
  await until("it is noted", async () => (await fleet.agentform("events", "api")).includes("touch y"));
  const page = await open({ view: "#/report" });
  await says(page, "active session", ".report [role=status]");
  const row = page.locator(".report tbody tr", { hasText: "api" });
  assert.match(await row.textContent(), /asks.*answer/);
  await says(page, 'api asks for', ".report ol");
  await says(page, "touch y", ".report ol");
  await accessible(page, "report");
  await page.setViewportSize({ width: 360, height: 740 });
  const cut = () => page.evaluate(() => [...document.querySelectorAll(".report td, .report th")].filter((e) => e.offsetParent && e.getBoundingClientRect().right > 360).map((e) => e.textContent));
  assert.deepEqual(await cut(), []);
  assert.match(await row.locator("td").nth(3).evaluate((e) => getComputedStyle(e, "::before").content), /data-title|waited/);
  await accessible(page, "report on a phone");
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.selectOption(".report select", "168");
  await row.locator("a").click();
  await says(page, "You are watching");
  await fleet.agentform("answer", "api", "no");
  await page.keyboard.press("g");
  await page.keyboard.press("r");
  await page.waitForSelector(".report table");
});

test("the usage is that of the command line", async () => {
  const page = await open({ view: "#/usage" });
  const u = await fleet.json("usage");
  await page.waitForSelector(".usage tbody tr");
  const rows = await page.locator(".usage tbody th").allTextContents();
  assert.deepEqual(rows.sort(), u.usage.map((x) => x.name.replace("session.", "")).sort());
  await accessible(page, "usage");
  await page.selectOption(".usage select >> nth=0", "day");
  await page.waitForFunction(() => /^\d{4}-\d\d-\d\d$/.test(document.querySelector(".usage tbody th")?.textContent));
  const midnight = new Date(new Date().setHours(0, 0, 0, 0)).toISOString();
  const asked = page.waitForRequest((r) => r.url().endsWith(`/v1/usage?by=day&since=${midnight}`));
  await page.selectOption('.usage label:has-text("since") select', "today");
  await asked;
});

test("a terminal is watched first, then controlled, and echoes", async () => {
  const page = await open({ view: "#/s/session.shell/terminal" });
  await says(page, "You are watching");
  await shows(page, "ready");
  await type(page, "unasked\n");
  await says(page, "Take control to type");
  await accessible(page, "terminal");
  await control(page);
  await type(page, "echo hello-$((1+2))\n");
  await shows(page, "hello-3");
  const times = await echoes(page);
  console.log(`echo: median ${times[50].toFixed(1)} ms, p99 ${times[98].toFixed(1)} ms`);
  assert.ok(!(await screen(page)).includes("unasked"));
  await type(page, "\x15\n");
});

test("all keys reach the agent, and none tmux, whose status line is not shown", async () => {
  const page = await open({ view: "#/s/session.cat/terminal" });
  await says(page, "You are watching");
  await control(page);
  await page.keyboard.press("Control+b");
  await page.keyboard.type("c-first");
  await shows(page, "^Bc-first");
  await page.keyboard.press("Control+b");
  await page.keyboard.type(":second");
  await shows(page, "^B:second");
  assert.ok(!(await screen(page)).includes("detaches"), await screen(page));
  await type(page, "\x15\n");
});

test("two pages of different size show one terminal", async () => {
  const large = await open({ view: "#/s/session.shell/terminal" });
  const small = await open({ view: "#/s/session.shell/terminal", size: { width: 360, height: 640 }, touch: true });
  await says(large, "2 pages show it");
  const cols = (page) => page.evaluate(() => document.querySelector(".terminal").terminal.cols);
  await control(large);
  await until("both have its size", async () => (await cols(large)) === (await cols(small)) && (await cols(large)) > 100);
  await small.click("button.control");
  await says(small, "You control this terminal");
  await says(large, "controls this terminal; you are watching");
  const [, name] = /(page [0-9a-f]{4} \(Chrome on \w+\)) controls this terminal; you are watching/.exec(await large.textContent(".control.other"));
  assert.equal(name, await small.getAttribute('button:text-is("Logins")', "title"));
  await until("both have the phone's size", async () => (await cols(large)) === (await cols(small)) && (await cols(small)) < 60);
  await type(small, "echo from-the-phone\n");
  await shows(large, "from-the-phone");
  for (const [page, width] of [[small, 360], [large, 1280]]) assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= width);
  await small.click('.key-row button:text-is("Ctrl")');
  assert.equal(await small.getAttribute('.key-row button:text-is("Ctrl")', "aria-pressed"), "true");
  await small.evaluate(() => (location.hash = "#/"));
  await small.waitForSelector(".row a");
  assert.ok((await small.evaluate(() => document.documentElement.scrollWidth)) <= 360);
  await accessible(small, "phone");
});

test("a comment on a line of the diff reaches the agent", async () => {
  const { sessions } = await fleet.json("status", "api");
  writeFileSync(join(sessions[0].workspace, "cart.go"), "package cart\n\n// <img src=x onerror=alert(1)>\nfunc Total() int { return 1 }\n");
  const page = await open({ view: "#/s/session.api/changes" });
  await page.waitForSelector('section[aria-label="cart.go"] .line.added');
  await says(page, "<img src=x onerror=alert(1)>");
  await accessible(page, "changes");
  await page.click('[aria-label="comment on line 4 of cart.go"]');
  await page.waitForFunction(() => document.activeElement.ariaLabel === "comment"); // else letters are keys of the page
  await page.keyboard.type("why 1?");
  await page.keyboard.press("Control+Enter");
  await page.click('[aria-label="comment on line 1 of cart.go"]');
  await page.fill("textarea", "a shop?");
  await page.click("text=Add comment");
  await page.click("text=Send 2 comments");
  await says(page, "sent ", ".remark");
  await until("the agent has it", async () => (await fleet.agentform("logs", "api")).includes("cart.go:4: why 1?"));
  await page.click('.tabs a:text-is("conversation")');
  await says(page, "cart.go:4: why 1?", ".entries");
  await accessible(page, "conversation");
  await page.click('.tabs a:text-is("timeline")');
  await says(page, "sent", ".events");
  await accessible(page, "timeline");
  await page.click('.tabs a:text-is("details")');
  await says(page, sessions[0].workspace);
  await accessible(page, "details");
});

test("the changes since a time are those after the last commit before it", async () => {
  const { sessions } = await fleet.json("status", "cat");
  const [{ workspace: cwd }] = sessions;
  const env = { ...fleet.env, GIT_COMMITTER_DATE: new Date(Date.now() - 2 * 86400e3).toISOString() };
  writeFileSync(join(cwd, "old.go"), "package old\n");
  for (const args of [["add", "old.go"], ["commit", "-q", "-m", "Add it"]]) execFileSync("git", args, { cwd, env });
  writeFileSync(join(cwd, "new.go"), "package fresh\n");
  const page = await open({ view: "#/s/session.cat/changes" });
  await says(page, "against main: 2 files, 1 commit ahead", ".diff");
  await page.selectOption('.diff label:has-text("since") select', "24");
  await says(page, ": 1 file, 0 commits ahead", ".diff");
  assert.deepEqual(await page.locator(".files a").allTextContents(), ["new.go"]);
  await accessible(page, "changes since a time");
  await shot(page, "since");
  rmSync(join(cwd, "new.go"));
  execFileSync("git", ["reset", "-q", "--hard", "main"], { cwd, env });
});

test("work that cannot be merged is named before it lands", async () => {
  const { sessions } = await fleet.json("status", "api", "web");
  const workspace = (name) => sessions.find((s) => s.name === name).workspace;
  for (const name of ["api", "web"]) writeFileSync(join(workspace(name), "<b>tax.go"), `package ${name}\n`);
  const page = await open();
  for (const name of ["api", "web"]) await fleet.agentform("send", name, "look"); // what has had output is looked at
  await until("the fleet names it", async () => (await row(page, "api").locator(".conflict").textContent().catch(() => "")) === "conflicts with web");
  assert.equal(await row(page, "web").locator(".conflict").getAttribute("title"), "api: <b>tax.go");
  await accessible(page, "fleet with conflicts");
  await page.evaluate(() => (location.hash = "#/s/session.api/changes"));
  await says(page, "Conflicts with web in <b>tax.go");
  for (const name of ["api", "web"]) rmSync(join(workspace(name), "<b>tax.go"));
});

test("work is landed when nothing stands against it", async () => {
  const { sessions } = await fleet.json("status", "api");
  const git = (...args) => execFileSync("git", args, { cwd: sessions[0].workspace, env: fleet.env, encoding: "utf8" });
  git("checkout", "-q", "--", ".");
  writeFileSync(join(sessions[0].workspace, "tax.go"), "package cart\n");
  const page = await open({ view: "#/s/session.api/changes" });
  await page.click('button:text-is("Land…")');
  await says(page, "It has 1 untracked file: write a message to commit it first.", "dialog [role=alert]");
  assert.ok(await page.isDisabled('dialog button:text-is("Land")'));
  await accessible(page, "land");
  await page.fill("dialog input", "Add a tax");
  await page.selectOption("dialog select", "squash");
  await says(page, "agents/api on main", "dialog");
  await shot(page, "land");
  await page.click('dialog button:text-is("Land")');
  await says(page, "agents/api is landed on main");
  assert.match(git("show", "--stat", "main"), /tax\.go/);
  const events = await fleet.agentform("events", "api");
  assert.match(events, /landed/);
  await page.locator('button:text-is("Land…")').waitFor({ state: "detached" }); // nothing is left to land
  assert.equal((await fleet.json("status", "api")).sessions[0].state, "running");
});

test("a conflict of what is not committed is foreseen, and its agent is asked to resolve it", async () => {
  const { sessions } = await fleet.json("status", "web");
  const file = join(sessions[0].workspace, "rates.go");
  writeFileSync(file, "package rates\n");
  writeFileSync(join(fleet.shop, "rates.go"), "package tax\n");
  for (const args of [["add", "rates.go"], ["commit", "-q", "-m", "Add rates"]]) execFileSync("git", args, { cwd: fleet.shop, env: fleet.env });
  const page = await open({ view: "#/s/session.web/changes" });
  await page.click('button:text-is("Land…")');
  await page.fill("dialog input", "Add rates");
  await says(page, "agents/web conflicts with main in 1 file; nothing was changed", "dialog");
  await accessible(page, "land with a conflict");
  await shot(page, "land-conflict");
  await page.click('dialog button:text-is("Send this to the agent")');
  await says(page, "Sent to web");
  assert.match(await fleet.agentform("logs", "web"), /Commit your work\. Merge main into your branch/);
  rmSync(file);
});

test("what a session lacks is brought into its branch", async () => {
  const { sessions } = await fleet.json("status", "web");
  const workspace = sessions[0].workspace;
  const git = (...args) => execFileSync("git", args, { cwd: workspace, env: fleet.env, encoding: "utf8" });
  execFileSync("git", ["commit", "-q", "--allow-empty", "-m", "moved"], { cwd: fleet.shop, env: fleet.env });
  const page = await open({ view: "#/s/session.web/changes" });
  const button = page.locator('button:text-is("Refresh branch…")');
  const confirm = () => page.click('dialog button:text-is("Refresh")');
  await fleet.agentform("send", "web", "look"); // what has had output is looked at
  await button.waitFor();
  await says(page, " behind", ".diff .tools");
  await fleet.agentform("wait", "web");
  writeFileSync(join(workspace, "cart.go"), "package web\n");
  await button.click();
  await says(page, "only a clean workspace is refreshed", "dialog");
  await confirm();
  await says(page, "only a clean workspace is refreshed");
  await accessible(page, "refused");
  git("checkout", "-q", "--", ".");
  await button.focus();
  await page.keyboard.press("Enter");
  await says(page, "of main will be merged into agents/web.", "dialog");
  await confirm();
  await says(page, "of main merged into agents/web.");
  assert.match(git("log", "--format=%s"), /moved/);
  assert.match(await fleet.agentform("events", "web"), /refreshed/);
  await fleet.agentform("send", "web", "look");
  await button.waitFor({ state: "detached" });
});

test("all work lands in the order that was shown", async () => {
  const { sessions } = await fleet.json("status");
  const workspace = (name) => sessions.find((s) => s.name === name).workspace;
  const git = (name, ...args) => execFileSync("git", args, { cwd: workspace(name), env: fleet.env, encoding: "utf8" });
  const works = (name, file, text) => {
    writeFileSync(join(workspace(name), file), text);
    git(name, "add", ".");
    git(name, "commit", "-qm", `${file} of ${name}`);
  };
  for (const name of ["api", "web", "shell"]) git(name, "reset", "-q", "--hard", "main");
  works("api", "a<b>.go", "package api\n");
  works("web", "web.go", "package web\n");
  works("shell", "a<b>.go", "package shell\n");
  writeFileSync(join(workspace("cat"), "open.go"), "package cat\n");
  const page = await open({ dark: true });
  await page.waitForSelector(".row a");
  await page.keyboard.press("L");
  const dialog = page.locator('dialog[aria-label="Land all"]');
  await dialog.locator('button:text-is("Land 2")').waitFor();
  assert.deepEqual(await dialog.locator("ol b").allTextContents(), ["web", "api"]);
  await says(page, "shell conflicts with session.api, which lands before it, in 1 file:\n  a<b>.go", "dialog");
  assert.match(await dialog.locator("ul li", { hasText: "cat" }).textContent(), /^cat has 1 untracked file:\s+Land it with a message…$/);
  assert.match(await dialog.locator("ol li").first().textContent(), /^web 1 commit of agents\/web on main\s+tree [0-9a-f]{7}$/);
  await accessible(page, "land all");
  await dialog.getByLabel("verified only").check();
  await says(page, "Nothing to land.", "dialog");
  assert.ok(await dialog.locator("button.primary").isDisabled());
  await dialog.getByLabel("verified only").uncheck();
  await dialog.locator('button:text-is("Land 2")').waitFor();

  works("web", "web.go", "package more\n");
  await dialog.locator("button.primary").click();
  await says(page, "session.web would make another main than was foreseen", "dialog");
  assert.doesNotMatch(git("web", "log", "--format=%s", "main"), /of web/);
  await says(page, "web 2 commits of agents/web on main", "dialog ol"); // the order as it is then
  await dialog.getByLabel("Method").selectOption("squash");
  await dialog.locator('button:text-is("Land 2")').waitFor();
  assert.equal(await dialog.locator("[role=alert]").count(), 0);
  await page.evaluate(() => document.querySelector('[aria-label="light or dark"]').click());
  await accessible(page, "land all in the light");
  await shot(page, "land-all");
  for (let i = 0; i < 20 && !(await page.evaluate(() => document.activeElement.matches("button.primary"))); i++) await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await says(page, "2 of 2 sessions landed.", "dialog");
  assert.equal(await dialog.locator("p.landed").count(), 2);
  await says(page, "shell conflicts with session.api, which", "dialog");
  await dialog.locator('[aria-label="Land cat"]').click();
  await says(page, "It has 1 untracked file: write a message to commit it first.", "dialog");
  await page.keyboard.press("Escape");
  await page.locator("dialog").waitFor({ state: "detached" });
  await says(page, "2 of 2 sessions landed.");
  assert.equal(git("api", "log", "-2", "--format=", "--name-only", "main"), "a<b>.go\nweb.go\n");
  assert.equal((await fleet.json("status", "api")).sessions[0].landed.into, "main");

  git("shell", "reset", "-q", "--hard", "main");
  rmSync(join(workspace("cat"), "open.go"));
  await page.click('button:text-is("Land all…")');
  await says(page, "Nothing to land.", "dialog");
  await page.click('dialog button:text-is("Cancel")');
});

test("a long order fits a phone, and its result says where it stopped", async () => {
  const page = await open({ size: { width: 360, height: 740 }, touch: true });
  const steps = Array.from({ length: 40 }, (_, i) => ({
    address: `session.worker["number-${i}"]`, branch: `agents/a-rather-long-name-of-a-branch-${i}`, base: "main", commit: "c".repeat(40), commits: i, tree: "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    landed: false, base_is: "", error: "",
  }));
  const answer = (route, body) => route.fulfill({ json: { format_version: "1.0", left_out: [], refreshes: [], ...body } });
  await page.route("**/v1/landing**", (route) => {
    if (route.request().method() === "GET") return answer(route, { dry_run: true, steps });
    const sent = route.request().postDataJSON();
    assert.deepEqual(sent.steps.map((x) => x.address), steps.map((x) => x.address));
    const refreshed = { address: "session.docs", branch: "agents/docs", base: "main", method: "merge", done: true, already: false, commits: 1, branch_was: "", branch_is: "", conflicts: [], sent: false, error: "" };
    return answer(route, {
      dry_run: false, refreshes: [refreshed],
      steps: steps.map((x, i) => ({ ...x, landed: i < 1, base_is: i < 1 ? "1c0ffee5b1e0c7a2" : "", error: i === 1 ? "session.worker, merged into main, is not verified: make: exit status 2\nFAIL <b>" : "" })),
    });
  });
  await page.click('button:text-is("Land all…")');
  const button = page.locator('dialog button:text-is("Land 40")');
  await button.waitFor();
  const inside = async (x) => {
    const b = await x.boundingBox();
    assert.ok(b.x >= 0 && b.y >= 0 && b.x + b.width <= 360 && b.y + b.height <= 740, JSON.stringify(b));
  };
  await inside(button);
  assert.ok(await page.evaluate(() => document.querySelector("dialog").scrollWidth <= document.querySelector("dialog").clientWidth));
  await button.click();
  await says(page, "1 of 40 sessions landed.", "dialog");
  assert.deepEqual((await page.locator("dialog li p").allTextContents()).slice(0, 3),
    ["landed, main is now at 1c0ffee", "session.worker, merged into main, is not verified: make: exit status 2\nFAIL <b>", "not landed: one before it failed"]);
  await says(page, "docs 1 commit of main merged into agents/docs.", "dialog");
  await inside(page.locator('dialog button:text-is("Close")'));
  await accessible(page, "landed in part");
});

test("a session that has needed somebody for 5 seconds is notified of, once", async () => {
  const page = await open();
  await page.context().grantPermissions(["notifications"], { origin: fleet.origin });
  await page.waitForSelector('.row a:text-is("web")');
  const shown = () => page.evaluate(() => window.notified);
  // What a browser shows of a notification is outside of the page: its constructor is watched.
  await page.evaluate(() => {
    window.notified = [];
    const real = window.Notification;
    window.Notification = new Proxy(real, { construct: (of, args) => (window.notified.push({ title: args[0], at: Date.now() }), Reflect.construct(of, args)) });
  });
  await page.click("nav >> text=Needs you");
  const notify = page.locator('button:text-is("Notify me")');
  const denies = (x) => page.evaluate((d) => {
    Object.defineProperty(Notification, "permission", { configurable: true, get: () => (d ? "denied" : "granted") });
    Notification.requestPermission = async () => Notification.permission;
  }, x);
  await denies(true);
  await notify.click();
  await says(page, "Notifications are off: the browser denies them. Its settings of this site allow them.", "[role=alert]");
  assert.equal(await notify.getAttribute("aria-pressed"), "false");
  await denies(false);
  await notify.click();
  await says(page, "This browser tells you", ".notice");
  assert.equal(await page.locator("[role=alert]").count(), 0);
  const [said, head] = [await page.locator(".notice").boundingBox(), await page.locator("header").boundingBox()];
  assert.ok(said.y > head.y + head.height && said.y + said.height <= 800 && said.y > 600, JSON.stringify(said));
  await fleet.agentform("send", "web", "ask touch y");
  const blocked = async () => (await shown()).filter((n) => n.title === "web blocked"); // the end of an earlier turn may be another
  await until("it is notified of", async () => (await blocked()).length > 0);
  const [first] = await blocked();
  const { sessions } = await fleet.json("status", "web");
  assert.ok(first.at - Date.parse(sessions[0].needs.since) >= 5000);
  await page.waitForTimeout(2500); // it looks each second
  assert.equal((await blocked()).length, 1);
  await page.click('.answers button:has-text("yes")');
  await page.waitForFunction(() => !document.querySelector(".answers"));
});

test("the keyboard is enough, in the dark and in the light", async () => {
  const page = await open({ dark: true });
  await page.waitForSelector(".row a");
  await accessible(page, "dark");
  await page.keyboard.press("?");
  await page.waitForSelector('dialog[aria-label="Keys"]');
  await accessible(page, "help");
  await page.keyboard.press("Escape");
  await page.keyboard.press("Control+k");
  await page.waitForSelector('input[aria-label="session or view"]:focus'); // else the page takes the keys
  await page.keyboard.type("shel");
  await accessible(page, "jump");
  await page.keyboard.press("Enter");
  await page.waitForSelector('section[aria-label="shell"]');
  await page.keyboard.press("5");
  await says(page, "workspace");
  await page.keyboard.press("g");
  await page.keyboard.press("p");
  await page.waitForSelector('section[aria-label="plan"]');
  await page.keyboard.press("g");
  await page.keyboard.press("f");
  await page.waitForSelector(".row a");
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await page.waitForSelector("section.session");
  await page.click('[aria-label="light or dark"]');
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "light");
});

test("what an agent prints stays text", async () => {
  const page = await open({ view: "#/s/session.cat/terminal" });
  await says(page, "You are watching");
  await control(page);
  const title = await page.title();
  await type(page, String.raw`printf '\033]0;<img src=x onerror=alert(1)>\007\033]52;c;aGVsbG8=\007\033]8;;javascript:alert(1)\007click\033]8;;\007<script>alert(1)</script>\033]2;x\033\\end\n'` + "\n");
  await shows(page, "<script>alert(1)</script>");
  assert.equal(await page.title(), title);
  assert.equal(await page.locator("script:not([src]), img, .terminal script").count(), 0);
});

test("an agent that prints 100 MB leaves the page quick and the hub small", async () => {
  const memory = () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${fleet.hub.pid}/status`, "utf8"))[1]) / 1024;
  const page = await open({ view: "#/s/session.cat/terminal" });
  await says(page, "You are watching");
  await control(page);
  const before = memory();
  await type(page, "head -c 75000000 /dev/urandom | base64; echo printed-all\n");
  await until("it prints", async () => (await screen(page)).split("\n").filter((l) => l.length > 60).length > 20);
  const slowest = await page.evaluate(async () => {
    let slowest = 0;
    for (const tab of ["details", "timeline", "details"]) {
      const began = performance.now();
      document.querySelector(`.tabs a[href$="/${tab}"]`).click();
      while (!document.querySelector(`.scrolls[aria-label="${tab}"]`)) await new Promise(requestAnimationFrame);
      slowest = Math.max(slowest, performance.now() - began);
    }
    document.querySelector('.tabs a[href$="/terminal"]').click();
    return slowest;
  });
  await until("all is printed", async () => (await fleet.agentform("capture", "cat")).includes("printed-all"), 90000);
  await shows(page, "printed-all");
  const grown = memory() - before;
  console.log(`while 100 MB are printed a click takes ${slowest.toFixed(0)} ms; the hub has grown by ${grown.toFixed(1)} MiB`);
  assert.ok(grown <= 50, `${grown} MiB`);
});

test("a page for reading only looks", async () => {
  const page = await open({ link: await fleet.newLink("--read-only"), view: "#/s/session.shell/terminal" });
  await says(page, "You are watching");
  assert.equal(await page.locator("button.control").count(), 0);
  await says(page, "read-only", "header");
  assert.equal(await page.locator(".verbs button:enabled").count(), 0);
  await page.evaluate(() => (location.hash = "#/"));
  assert.ok(await page.isDisabled('button:text-is("Land all…")'));
  await page.keyboard.press("L");
  assert.equal(await page.locator("dialog").count(), 0);
  const status = await page.evaluate(() => fetch("/v1/sessions/shell/stop", { method: "POST" }).then((r) => r.status));
  assert.equal(status, 403);
});

test("another origin is refused", async () => {
  const page = await open();
  const evil = createServer((_, w) => w.end("<!doctype html>"));
  await new Promise((done) => evil.listen(0, "127.0.0.1", done));
  try {
    await page.goto(`http://127.0.0.1:${evil.address().port}/`); // the same site: the cookie is sent
    const got = await page.evaluate(async (hub) => {
      const socket = await new Promise((done) => {
        const s = new WebSocket(`${hub.replace("http", "ws")}/v1/sessions/shell/terminal`);
        s.onopen = () => done("open");
        s.onerror = () => done("refused");
      });
      const read = await fetch(`${hub}/v1/sessions`, { credentials: "include" }).then(() => "read", () => "refused");
      const act = await fetch(`${hub}/v1/sessions/shell/stop`, { method: "POST", mode: "no-cors", credentials: "include" }).then(() => "sent", () => "refused");
      return { socket, read, act };
    }, fleet.origin);
    assert.equal(got.socket, "refused");
    assert.equal(got.read, "refused");
    assert.equal((await fleet.json("status", "shell")).sessions[0].state, "running");
  } finally {
    evil.close();
  }
});

test("a page connects again to the next hub, and shows nothing twice", async () => {
  const page = await open({ view: "#/s/session.shell/terminal" });
  await says(page, "You are watching");
  await control(page);
  await type(page, "echo once-$((40+2))\n");
  await shows(page, "once-42");
  await type(page, "seq 100\n");
  await shows(page, "\n100\n");
  await fleet.kill();
  await says(page, "Connecting again");
  await fleet.serve(new URL(fleet.origin).port);
  await says(page, "You are watching");
  await page.waitForSelector(".connection.on");
  await shows(page, "once-42");
  assert.equal((await screen(page)).split("\n").filter((l) => l === "once-42").length, 1);
});

const sizes = { desktop: { width: 1440, height: 900 }, tablet: { width: 820, height: 1180 }, phone: { width: 360, height: 740 } };

// lastRow is the bottom of the last row of a terminal that has text, in px of the viewport.
const lastRow = (page) => page.evaluate(() => {
  const { terminal } = document.querySelector(".terminal-tab > .terminal");
  const b = terminal.buffer.active;
  let row = terminal.rows - 1;
  while (row > 0 && !b.getLine(b.baseY + row)?.translateToString(true)) row--;
  const screen = terminal.element.querySelector(".xterm-screen").getBoundingClientRect();
  const box = document.querySelector(".terminal-tab > .terminal").getBoundingClientRect();
  return { bottom: screen.top + ((row + 1) * screen.height) / terminal.rows, top: box.top, end: box.bottom };
});

test("what matters is inside the page at every size", async () => {
  await fleet.agentform("send", "shell", "seq 60");
  for (const [name, size] of Object.entries(sizes)) {
    const page = await open({ size, touch: name === "phone", view: "#/s/session.shell/terminal" });
    await says(page, "You are watching");
    await shows(page, "\n60\n");
    await until(`the last row is seen on a ${name}`, async () => {
      const { bottom, top, end } = await lastRow(page);
      return bottom > top && bottom <= end + 1 && end <= size.height;
    });
    const width = () => page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok((await width()) <= size.width);
    const height = (await page.locator(".terminal-tab > .terminal").boundingBox()).height;
    if (name === "phone") assert.ok(height >= 0.7 * size.height, `the terminal has ${height} px`);
    assert.equal(await page.locator(".key-row").count(), 0); // nobody types
    if (name === "phone") {
      await control(page);
      await page.locator('.key-row button:text-is("Esc")').waitFor();
      const box = await page.locator(".terminal-tab > .terminal").boundingBox();
      assert.ok(box.height >= 0.6 * size.height, `the terminal has ${box.height} px`);
      await page.click("button.control");
    }
    await page.evaluate(() => (location.hash = "#/s/session.api/conversation"));
    await page.waitForSelector(".conversation .send");
    assert.ok((await page.locator(".conversation .send").boundingBox()).height < size.height / 4);
    assert.ok((await width()) <= size.width);
    if (name !== "phone") continue;
    for (const view of ["#/", "#/needs", "#/s/session.shell/terminal"]) {
      await page.evaluate((v) => (location.hash = v), view);
      await page.waitForTimeout(300);
      const small = await page.evaluate(() => [...document.querySelectorAll("button, select, input:not([type=checkbox])")].filter((e) => e.offsetParent && e.getBoundingClientRect().height < 39).map((e) => e.outerHTML.slice(0, 80)));
      assert.deepEqual(small, [], view);
    }
  }
});

test("the keyboard leaves a terminal", async () => {
  const page = await open({ view: "#/s/session.cat/terminal" });
  await says(page, "You are watching");
  await page.click(".terminal-tab > .terminal");
  await page.keyboard.press("x");
  await says(page, "Take control to type");
  for (let i = 0; i < 3; i++) await page.keyboard.press("Tab");
  const inside = () => page.evaluate(() => Boolean(document.activeElement.closest(".terminal-tab > .terminal")));
  assert.equal(await inside(), false);
  await control(page);
  await page.waitForFunction(() => document.activeElement.closest(".terminal-tab > .terminal"));
  await page.keyboard.press("Tab"); // is the agent's
  assert.equal(await inside(), true);
  await page.keyboard.press("Control+Shift+K");
  assert.equal(await page.evaluate(() => document.activeElement.textContent.trim()), "Release control");
  await page.keyboard.press("Enter");
  await says(page, "You are watching");
});

test("what is looked at meanwhile takes no control, and the terminal has the colors of the page", async () => {
  const page = await open({ view: "#/s/session.shell/terminal", size: { width: 1100, height: 700 } });
  await says(page, "You are watching");
  await control(page);
  await page.click('.tabs a:text-is("changes")');
  await page.waitForSelector(".diff");
  await page.click('.tabs a:text-is("terminal")');
  await says(page, "You control this terminal");
  const background = () => page.evaluate(() => document.querySelector(".terminal-tab > .terminal").terminal.options.theme.background);
  const before = await background();
  await page.click('[aria-label="light or dark"]');
  assert.notEqual(await background(), before);
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.click('.tabs a:text-is("details")');
  await page.waitForSelector(".panes.two dl.details"); // both have room
  await says(page, "You control this terminal");
});

test("several sessions are paused with one question", async () => {
  const page = await open();
  for (const name of ["shell", "cat"]) {
    await page.waitForSelector(`.row a:text-is("${name}")`);
    await row(page, name).locator("input").check();
  }
  await accessible(page, "selected");
  await page.keyboard.press("Escape");
  assert.equal(await page.locator(".bulk").count(), 0);
  const all = page.locator('[aria-label="select all that are shown"]');
  await all.click();
  await says(page, "4 selected", ".bulk");
  for (const name of ["api", "web"]) await row(page, name).locator("input").uncheck();
  assert.ok(await all.evaluate((e) => e.indeterminate));
  await page.click('.bulk button:text-is("Select all 4")');
  await says(page, "4 selected", ".bulk");
  for (const name of ["api", "web"]) await row(page, name).locator("input").uncheck();
  const stop = await page.locator('.bulk button:text-is("Stop 2")').boundingBox();
  await page.keyboard.press("p");
  await says(page, "Pause 2 sessions?", "dialog");
  await page.click('dialog button:text-is("Pause 2")');
  await says(page, "2 of 2 paused");
  await row(page, "shell").locator('.word:text("paused")').waitFor();
  await row(page, "cat").locator('.word:text("paused")').waitFor();
  assert.deepEqual(await page.locator('.bulk button:text-is("Stop 2")').boundingBox(), stop, "verbs keep their places");
  assert.match(await row(page, "shell").locator(".c-now").textContent(), /^paused by you at /);
  await row(page, "shell").locator("a").click();
  await says(page, "Paused: this is its screen.");
  await page.evaluate(() => (location.hash = "#/"));
  await page.click('.bulk button:text-is("Resume 2")');
  await page.click('dialog button:text-is("Resume 2")');
  await says(page, "2 of 2 resumed");
  await until("both run", async () => (await fleet.json("status", "shell", "cat")).sessions.every((s) => s.state === "running"));
});

test("the wall has the screens, and a question is answered in its tile", async () => {
  const page = await open();
  await page.waitForSelector(".row a");
  await page.keyboard.press("g");
  await page.keyboard.press("w");
  await page.waitForSelector(".tile");
  assert.equal(await page.locator(".tile").count(), 4);
  const tile = (name) => page.locator(`.tile[aria-label="${name}"]`);
  await fleet.agentform("send", "shell", "echo on-the-wall");
  await tile("shell").locator('pre:has-text("on-the-wall")').waitFor();
  await fleet.agentform("send", "api", "ask touch wall");
  await tile("api").locator(".answers").waitFor();
  assert.equal(await page.locator(".tile").first().getAttribute("aria-label"), "api"); // it needs somebody
  await accessible(page, "wall");
  await tile("api").locator('button:text("no")').click();
  await tile("api").locator(".answers").waitFor({ state: "detached" });
  await page.fill('[aria-label="filter the wall"]', "role:builder");
  await page.waitForFunction(() => document.querySelectorAll(".tile").length === 1);
  assert.equal(new URL(page.url()).hash, "#/wall?q=role%3Abuilder");
  await tile("web").locator("h3 a").click();
  await page.waitForSelector('section[aria-label="web"]');
});

test("a hub that does not answer is said once, and gone when it does", async () => {
  const page = await open();
  await page.waitForSelector(".row a");
  await page.route("**/v1/**", (route) => route.abort());
  await says(page, "The hub has not answered since", "body");
  assert.equal(await page.locator(".trouble").count(), 0);
  await accessible(page, "away");
  await page.unroute("**/v1/**");
  await page.waitForFunction(() => !document.querySelector(".away"));
});

test("a page whose address is damaged shows the fleet", async () => {
  const page = await open();
  await page.goto(`${fleet.origin}/#/s/%/x`);
  await page.reload();
  await page.waitForSelector(".row a");
});

test("a session that ends offers its restart", async () => {
  const page = await open({ view: "#/s/session.cat/terminal" });
  await says(page, "You are watching");
  await control(page);
  await type(page, "exit 3\n");
  await says(page, "Its agent has ended at ");
  await says(page, "exit status 3");
  await says(page, "exit 3", ".last-screen"); // its last words
  await page.click(".verbs >> text=Restart");
  await page.click('dialog button:text-is("Restart")');
  await says(page, "You are watching"); // the terminal of the next run, without a click
  await fleet.agentform("send", "cat", "echo before the stop");
  await shows(page, "before the stop");
  await page.evaluate(() => {
    window.notices = [];
    const e = document.querySelector(".notice");
    new MutationObserver(() => e.textContent && window.notices.push(e.textContent)).observe(e, { subtree: true, childList: true, characterData: true });
  });
  await page.click(".verbs >> text=Stop");
  await page.click('dialog button:text-is("Stop")');
  await says(page, "cat stopped"); // and before that, what is done
  assert.deepEqual(await page.evaluate(() => window.notices), ["Stopping cat…", "cat stopped"]);
  await says(page, "before the stop", ".last-screen"); // of which nothing runs any more
  await fleet.agentform("start", "cat");
  await says(page, "You are watching");
  await shows(page, "ready");
});

test("a session that a budget holds says so, and starts when it may spend as much again", async () => {
  const other = new Fleet(`
agent "fake" {
  base    = "claude"
  command = ["fakeagent", "-as-claude"]
}
session "api" {
  agent  = agent.fake
  branch = "agents/api"
  budget "few" {
    tokens = 200
    per    = "day"
    zone   = "UTC"
  }
}`);
  try {
    await other.agentform("apply", "--auto-approve", "--wait");
    await other.serve();
    await other.agentform("send", "api", "work one"); // an answer takes 110 tokens
    await other.agentform("wait", "api");
    await other.agentform("send", "api", "work two");
    const page = await open({ to: other, view: "#/s/session.api/details" });
    await says(page, "paused by the budget few: 220 of 200 tokens; until ");
    // The hub pauses it just then: the line is there before.
    await page.waitForFunction(() => [...document.querySelectorAll("section.session .verbs button")].map((b) => b.textContent.trim()).join() === "Start anyway…,Stop");
    await accessible(page, "held");
    await page.click('button:text-is("Start anyway…")');
    await says(page, "220 of 200 tokens. All budgets of api start over, so that it may spend as much again until ", "dialog");
    await accessible(page, "start anyway");
    await page.click('dialog button:text-is("Cancel")');
    assert.equal((await other.json("status", "api")).sessions[0].state, "paused");
    await page.click('button:text-is("Start anyway…")');
    await page.click('dialog button:text-is("Start anyway")');
    await says(page, "Started api: its budgets start over.");
    await page.waitForFunction(() => !document.querySelector(".session-head .hold"));
    await page.waitForSelector('.verbs button:text-is("Restart")');
    const [api] = (await other.json("status", "api")).sessions;
    assert.equal(api.state, "running");
    assert.equal(api.over_budget, null);
    assert.match(await other.agentform("events", "api"), /budget ignored/);
  } finally {
    await other.remove();
  }
});

// A thousand agents do not fit on this machine: the document of the real ones is repeated.
test("a thousand sessions scroll smoothly, and two hundred are there in 300 ms", async () => {
  const page = await open({ view: "#/needs" });
  let most = 200;
  await page.context().route("**/v1/sessions?ranked=true", async (route) => {
    const response = await route.fetch();
    const d = await response.json();
    const all = Array.from({ length: most }, (_, i) => ({ ...d.sessions[i % d.sessions.length], address: `session.many[${i}]`, name: `many[${i}]` }));
    await route.fulfill({ response, json: { ...d, sessions: all, version: undefined } }); // without a version all is asked for
  });
  const other = await page.context().newPage();
  await other.goto(fleet.origin);
  await other.waitForSelector('.rows .row a:text-is("many[3]")');
  const first = await other.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0].startTime);
  most = 1000;
  await other.waitForSelector('.table[aria-rowcount="1001"]');
  assert.ok((await other.locator(".rows .row").count()) < 60);
  const scroll = () => other.evaluate(async () => {
    const table = document.querySelector(".table");
    table.scrollTop = 0;
    const frames = [];
    let last = await new Promise(requestAnimationFrame);
    for (let i = 0; i < 100; i++) {
      table.scrollTop += 450;
      const now = await new Promise(requestAnimationFrame);
      frames.push(now - last);
      last = now;
    }
    return frames.sort((a, b) => a - b);
  });
  // The least disturbed of three: other programs may take a frame.
  const frames = [await scroll(), await scroll(), await scroll()].sort((a, b) => a.at(-1) - b.at(-1))[0];
  assert.ok(await other.locator('.rows .row a:text-is("many[990]")').count());
  console.log(`200 sessions: the first paint after ${first.toFixed(0)} ms; 1000 rows: the longest frame takes ${frames.at(-1).toFixed(0)} ms, the median ${frames[50].toFixed(0)} ms`);
});
