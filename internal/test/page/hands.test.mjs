// What is under the hands of a person: clicks, keys, and what moves: make check-page.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { alter, control, launch, says, visit } from "./browser.mjs";
import { Fleet, until } from "./fleet.mjs";

const desktop = { viewport: { width: 1280, height: 800 } };
const phone = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true };
let fleet;
let browser;

before(async () => {
  fleet = new Fleet();
  await fleet.agentform("apply", "--auto-approve", "--wait");
  await fleet.serve();
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await fleet?.remove();
});

const open = (...at) => visit(browser, fleet, ...at);
const row = (page, name) => page.locator(".rows .row", { has: page.locator(`a:text-is("${name}")`) });
const hash = (page) => new URL(page.url()).hash;

test("a click anywhere on a row or a tile opens its session, and with Ctrl a tab", async () => {
  for (const [view, place, name] of [["#/", (p) => row(p, "shell").locator(".c-now"), "shell"], ["#/wall", (p) => p.locator('.tile[aria-label="cat"] .tile-screen'), "cat"]]) {
    const { page, close } = await open(desktop, view, "ready");
    const [other] = await Promise.all([page.context().waitForEvent("page"), place(page).click({ modifiers: ["Control"] })]);
    await other.waitForSelector(`section[aria-label="${name}"]`);
    assert.equal(hash(page), view);
    const { x, y, height } = await place(page).boundingBox();
    await page.mouse.move(x + 2, y + (view === "#/" ? height / 2 : height - 12)); // a text is selected as anywhere
    await page.mouse.down();
    await page.mouse.move(x + 60, y + (view === "#/" ? height / 2 : height - 12), { steps: 4 });
    await page.mouse.up();
    assert.match(await page.evaluate(() => String(getSelection())), /rea/);
    assert.equal(hash(page), view);
    await place(page).click();
    await page.waitForSelector(`section[aria-label="${name}"]`);
    await close();
  }
  const { page, close } = await open(desktop, "#/", "ready");
  await row(page, "cat").locator(".c-choose input").check();
  assert.equal(hash(page), "#/");
  await close();
});

test("Enter opens the row that j has chosen, and not the link that had the focus", async () => {
  const { page, close } = await open(desktop, "#/plan", "Nothing");
  await page.locator("nav a", { hasText: "Fleet" }).focus();
  await page.keyboard.press("Enter");
  await page.waitForSelector(".row a");
  await page.keyboard.press("j");
  const name = await page.locator(".row.at a").textContent();
  await page.keyboard.press("Enter");
  await page.waitForSelector(`section[aria-label="${name}"]`);
  await close();
});

test("neither an answer nor an error moves what one is about to click", async () => {
  for (const name of ["api", "web"]) await fleet.agentform("send", name, `ask touch ${name}`);
  const { page, close } = await open(desktop, "#/needs", 'run "touch web"?');
  await says(page, 'run "touch api"?');
  const cards = page.locator(".cards article");
  await page.waitForFunction(() => document.querySelectorAll(".cards .screen").length === 2);
  const box = (i) => cards.nth(i).boundingBox();
  const second = await box(1);
  const names = await page.locator(".cards h3 a").allTextContents();
  await page.route("**/answer", (route) => route.fulfill({ status: 500, json: { error: { code: "failed", message: "it was not typed", next: "" } } }));
  const no = cards.first().locator('button:has-text("no")');
  const button = await no.boundingBox();
  await no.click();
  await says(page, "it was not typed", ".trouble");
  assert.deepEqual(await no.boundingBox(), button, "the error has moved the button");
  await page.click(".trouble button");
  await page.unroute("**/answer");
  let later;
  const slow = new Promise((done) => (later = done));
  await page.route("**/v1/sessions?ranked=true*", async (route) => (await slow, route.continue()));
  await no.click();
  await says(page, `Answered ${names[0]}: no`, ".cards article");
  assert.ok((await box(0)).height < 90, `the answered card has ${(await box(0)).height} px`);
  assert.deepEqual(await box(1), second, "its place is kept");
  later();
  await until("the agent has the answer", async () => !(await fleet.json("status", names[0])).sessions[0].question);
  await page.waitForFunction(() => /idle|working/.test(document.querySelector("article:has(.answered) .word")?.textContent)); // it is as it is now
  await page.waitForTimeout(6000); // longer than an answered card stays when nobody is about to click
  assert.deepEqual(await box(1), second);
  assert.equal(await cards.nth(1).locator("h3 a").textContent(), names[1]);
  await page.mouse.move(600, 5);
  await until("the cards are in order when the pointer has left", async () => (await cards.first().locator("h3 a").textContent()) === names[1]);
  await page.locator("nav a", { hasText: "Needs" }).focus();
  await page.keyboard.press("j"); // also here Enter is of the card
  const chosen = await page.locator(".cards .current").getAttribute("aria-label");
  assert.equal(chosen, names[0]);
  await page.keyboard.press("Enter");
  await page.waitForSelector(`section[aria-label="${chosen}"]`);
  await fleet.agentform("answer", names[1], "no");
  await close();
});

test("a card has the whole end of its screen, its age once, and a ring of focus that nothing covers", async () => {
  const { page, close } = await open(desktop, "#/needs", "Needs you");
  await fleet.agentform("send", "web", "ask touch z");
  await page.locator('article .screen:has-text("Esc to cancel")').waitFor();
  const screen = page.locator(".screen").first();
  assert.ok(await screen.evaluate((e) => e.scrollHeight <= e.clientHeight), "its end is cut");
  await alter(page, fleet, (s) => (s.name === "api" ? { ...s, word: "idle", word_since: s.started_at, question: null, activity: "idle", needs: { reason: "turn_ended", since: s.started_at }, changes: { added: 3, removed: 1, untracked: 0, ahead: 2, behind: 0 } } : s));
  const card = page.locator('article[aria-label="api"]');
  const head = card.locator("h3");
  await head.waitFor();
  assert.match(await head.textContent(), /^api idle \d+[sm]\s*$/);
  assert.equal(await card.locator('a:has-text("Changes")').getAttribute("href"), "#/s/session.api/changes");
  await card.locator('button:text-is("Land…")').click();
  await page.waitForSelector('dialog[aria-label="Land api"]');
  await page.keyboard.press("Escape");
  assert.equal(await page.locator('article[aria-label="web"] .button').count(), 0); // it has none
  const [text, verbs] = [await card.locator("textarea").boundingBox(), await card.locator(".verbs").boundingBox()];
  assert.ok(verbs.y - text.y - text.height >= 3, "the verbs cover the ring around the text");
  const gap = await page.locator(".answers button:has(small)").evaluate((b) => {
    const label = document.createRange();
    label.setStart(b, 0);
    label.setEndBefore(b.querySelector("small"));
    return b.querySelector("small").getBoundingClientRect().left - label.getBoundingClientRect().right;
  });
  assert.ok(gap >= 8, `a label is ${gap} px from what it means`);
  await page.unroute("**");
  await fleet.agentform("answer", "web", "no");
  await close();
});

test("what ends an agent looks different, stands apart, and says what becomes of the work", async () => {
  const { page, close } = await open(desktop, "#/s/session.web/terminal", "You are watching");
  const button = (name) => page.locator(`.session-head .verbs button:text-is("${name}")`);
  const color = (x) => x.evaluate((e) => getComputedStyle(e).color);
  assert.notEqual(await color(button("Stop")), await color(button("Pause")));
  assert.equal(await color(button("Stop")), await color(button("Restart")));
  const [pause, restart, stop] = await Promise.all(["Pause", "Restart", "Stop"].map((n) => button(n).boundingBox()));
  assert.ok(restart.x - pause.x - pause.width >= 16 && stop.x - restart.x - restart.width < 16, "they stand apart, together");
  await button("Restart").click();
  await says(page, "Its conversation is kept, and resumed when its agent is started. Its files stay in its workspace, also what is not committed.", "dialog");
  assert.equal(await page.locator("dialog .primary").count(), 0);
  await page.keyboard.press("Escape");
  await button("Stop").click();
  await says(page, "also what is not committed. It stays stopped until it is started.", "dialog");
  await page.keyboard.press("Escape");
  await close();
});

test("a session that has ended says so once, and offers neither its stop nor its terminal", async () => {
  const { page, close } = await open(desktop, "#/s/session.shell/terminal", "You are watching");
  await page.click(".terminal-tab > .terminal");
  await page.keyboard.press("x");
  await says(page, "Take control to type");
  assert.equal((await page.textContent(".terminal-tools")).match(/You are watching/g).length, 1);
  await fleet.agentform("pause", "shell");
  await says(page, "Paused: this is its screen.");
  assert.equal(await page.locator('button:text-is("Connect again")').count(), 0);
  await fleet.agentform("resume", "shell");
  await says(page, "You are watching");
  const { exit, ...rest } = { exit: { code: 3, at: new Date().toISOString() } };
  await alter(page, fleet, (s) => (s.name === "shell" ? { ...s, ...rest, exit, session_alive: false, state: "stale", activity: "exited", word: "exited", word_note: "(3)", why: "agent exited (exit status 3)", actions: ["restart-session"] } : s));
  await says(page, "Its agent has ended at ");
  assert.equal((await page.textContent("section.session")).match(/exit status 3/g).length, 1);
  await page.click('.tabs a:text-is("conversation")');
  assert.ok(await page.locator(".send button").isDisabled());
  assert.equal(await page.locator(".send textarea").getAttribute("placeholder"), "Its agent does not run: start it to send it a text.");
  await close();
});

test("a draft of a comment stays while other tabs are looked at, and what is not sent can be changed", async () => {
  const { sessions } = await fleet.json("status", "api");
  writeFileSync(join(sessions[0].workspace, "cart.go"), `package cart\n\nfunc Total() int { return 1 } // ${"a long line ".repeat(30)}\n`);
  const { page, close } = await open(desktop, "#/s/session.api/changes", "return 1");
  const tab = async (name) => page.click(`.tabs a:text-is("${name}")`);
  await page.click('[aria-label="comment on line 3 of cart.go"]');
  await page.waitForFunction(() => document.activeElement.ariaLabel === "comment");
  await page.keyboard.type("why");
  await page.waitForTimeout(1500); // the page is drawn each second
  await page.keyboard.type(" 1?");
  await tab("details");
  await page.waitForSelector("dl.details");
  await tab("changes");
  await page.waitForSelector('textarea[aria-label="comment"]');
  assert.equal(await page.inputValue('textarea[aria-label="comment"]'), "why 1?");
  await page.click("text=Add comment");
  await page.click('.remark button:text-is("Edit")');
  await page.fill('textarea[aria-label="comment"]', "why one?");
  await page.click("text=Add comment");
  assert.match(await page.textContent(".remark"), /^why one\? not sent yet/);
  await page.click('.remark button:text-is("Delete")');
  assert.equal(await page.locator(".remark").count(), 0);
  assert.equal(await page.locator("text=Send 1 comment").count(), 0);
  const [number, code] = await page.locator(".line.added").first().evaluate((l) => [".comment", "code"].map((c) => {
    const text = document.createRange();
    text.selectNodeContents(l.querySelector(c));
    return text.getBoundingClientRect();
  }).map((b) => b.top));
  assert.ok(Math.abs(number - code) < 1, `a number is ${number - code} px lower than its line`);
  execFileSync("git", ["checkout", "-q", "--", "."], { cwd: sessions[0].workspace, env: fleet.env });
  await close();
});

test("the title names the session, and the palette says when nothing matches", async () => {
  const { page, close } = await open(desktop, "#/s/session.web/details", "workspace");
  assert.match(await page.title(), /^(\(\d+\) )?web · shop · agentform$/);
  await page.keyboard.press("Control+k");
  await page.waitForSelector('input[aria-label="session or view"]:focus');
  await page.keyboard.type("nowhere");
  await says(page, "No session or view has these words.", "dialog [role=status]");
  await close();
});

test("a terminal that is watched has letters that can be read, or leaves its place to the other view", async () => {
  const large = await open({ viewport: { width: 1900, height: 900 } }, "#/s/session.shell/terminal", "You are watching");
  await control(large.page); // its window has the size of this page
  const cols = (page) => page.evaluate(() => document.querySelector(".terminal").terminal.cols);
  await until("it is wide", async () => (await cols(large.page)) > 200);
  await large.page.click("button.control");
  const { page, close } = await open({ viewport: { width: 1440, height: 900 } }, "#/s/session.shell/details", "workspace");
  await page.waitForFunction(() => !document.querySelector(".panes.two"));
  assert.ok((await page.locator("dl.details").boundingBox()).width > 1300);
  const small = await open(phone, "#/s/session.shell/terminal", "You are watching");
  const letters = (page) => page.evaluate(() => document.querySelector(".terminal").terminal.options.fontSize);
  await until("the phone has its columns", async () => (await cols(small.page)) > 200);
  assert.ok((await letters(small.page)) >= 11, `${await letters(small.page)} px`);
  assert.ok(await small.page.evaluate(() => document.querySelector(".terminal").scrollWidth > 1000 && document.documentElement.scrollWidth <= 360));
  await control(small.page);
  await until("the window has the columns of the phone", async () => (await cols(small.page)) < 60);
  await small.page.click("button.control");
  await page.waitForSelector(".panes.two"); // now it can be read there
  const [terminal, details] = [await page.locator(".pane").first().boundingBox(), await page.locator("dl.details").boundingBox()];
  assert.ok(terminal.width < 600 && details.width > 700, `${terminal.width} and ${details.width} px`);
  assert.equal(await letters(page), 13);
  for (const x of [large, small]) await x.close();
  await close();
});

test("on a phone the tab that is shown is in sight, and the head of a session has two lines", async () => {
  const { page, close } = await open(phone, "#/s/session.shell/details", "workspace");
  const [tab, head] = [await page.locator('.tabs a:text-is("details")').boundingBox(), await page.locator(".session-head").boundingBox()];
  assert.ok(tab.x >= 0 && tab.x + tab.width <= 360, `details ends at ${tab.x + tab.width}`);
  assert.ok(head.height <= 64, `the head has ${head.height} px`);
  await close();
});

test("letters keep their size when control is taken of a window that is a little larger", async () => {
  const first = await open({ viewport: { width: 1280, height: 800 } }, "#/s/session.shell/terminal", "You are watching");
  await control(first.page); // its window has the size of this page
  await first.page.click("button.control");
  const { page, close } = await open({ viewport: { width: 1260, height: 780 } }, "#/s/session.shell/terminal", "You are watching");
  const letters = () => page.evaluate(() => document.querySelector(".terminal").terminal.options.fontSize);
  await until("they are a little smaller", async () => (await letters()) === 12.5);
  const rows = () => page.evaluate(() => document.querySelector(".terminal").terminal.rows);
  const before = await rows();
  await control(page);
  await until("the window has the size of this page", async () => (await rows()) !== before);
  assert.equal(await letters(), 12.5);
  const other = await page.context().newPage();
  await other.goto(`${fleet.origin}/#/s/session.shell/terminal`);
  await says(other, "Another page of this browser controls this terminal");
  await page.click("button.control");
  await close();
  await first.close();
});

test("the verbs of a row cover none of its facts", async () => {
  for (const width of [1440, 1000]) {
    const { page, close } = await open({ viewport: { width, height: 800 } }, "#/", "ready");
    await row(page, "shell").hover();
    const verbs = await row(page, "shell").locator(".row-verbs").boundingBox();
    assert.ok(verbs.width > 60);
    for (const cell of await row(page, "shell").locator('[role="cell"]:not(.c-now):not(.row-verbs)').all()) {
      const b = await cell.boundingBox();
      assert.ok(!b || b.x + b.width <= verbs.x || b.x >= verbs.x + verbs.width, `${await cell.getAttribute("class")} at ${width}`);
    }
    await close();
  }
});

test("a row that is current or selected looks like one, and its word is whole", async () => {
  const { page, close } = await open(desktop, "#/", "ready");
  await alter(page, fleet, (s) => (s.name === "shell" ? { ...s, word: "interrupted", tone: "attention", word_since: new Date(Date.now() - 3.7e6).toISOString() } : s));
  const word = row(page, "shell").locator(".word");
  await word.filter({ hasText: "interrupted 1h" }).waitFor();
  assert.ok(await word.evaluate((e) => e.parentElement.scrollWidth <= e.parentElement.clientWidth), "its word is cut");
  while (!/ at\b/.test(await row(page, "shell").getAttribute("class"))) await page.keyboard.press("j");
  await page.keyboard.press("x");
  assert.equal(await page.locator(".table").evaluate((e) => (e === document.activeElement ? getComputedStyle(e).outlineStyle : "")), "none"); // the row shows it
  const grounds = () => row(page, "shell").evaluate((r) => [getComputedStyle(r).backgroundColor, getComputedStyle(r.querySelector(".row-verbs")).backgroundImage]);
  await until("it has the ground of what is selected", async () => (await grounds())[0] === "rgb(232, 240, 253)");
  assert.ok((await grounds())[1].includes("rgb(232, 240, 253)"), "its verbs have another ground");
  await close();
});

test("what the agent says is read, and a long prompt is folded", async () => {
  const prompt = `Count the words. ${"one two three ".repeat(40)}`;
  await fleet.agentform("send", "api", prompt);
  await fleet.agentform("wait", "api");
  const { page, close } = await open(desktop, "#/s/session.api/conversation", "Count the words.");
  await page.locator("details.entry.user summary", { hasText: "Count the words." }).waitFor();
  assert.ok((await page.locator("article.entry.agent .prose").count()) > 0);
  assert.equal(await page.locator("details.entry.agent").count(), 0);
  await close();
});

test("a wrong token is answered with talk of tokens", async () => {
  const page = await (await browser.newContext()).newPage();
  await page.goto(fleet.origin);
  await page.fill("#token", "wrong");
  const { width } = await page.locator(".door").boundingBox();
  await page.click('button:text-is("Enter")');
  await page.waitForSelector("[role=alert]");
  assert.equal(await page.textContent("[role=alert]"), "This is not the hub's token: enter that of its --token-file or AGENTFORM_TOKEN.");
  assert.equal((await page.locator(".door").boundingBox()).width, width, "the form keeps its width");
  const color = (name) => page.evaluate((n) => {
    const e = document.body.appendChild(document.createElement("i"));
    e.style.color = `var(${n})`;
    return getComputedStyle(e).color;
  }, name);
  assert.equal(await page.locator("[role=alert]").evaluate((e) => getComputedStyle(e).color), await color("--broken"));
  assert.doesNotMatch(await page.textContent("[role=alert]"), /link/);
  await page.context().close();
});
