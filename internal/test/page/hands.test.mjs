// What is under the hands of a person: clicks, keys, and what moves: make check-page.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { alter, launch, says, visit } from "./browser.mjs";
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
  await no.click();
  await says(page, `Answered ${names[0]}: no`, ".cards article");
  await until("the agent has the answer", async () => !(await fleet.json("status", names[0])).sessions[0].question);
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
  if (process.env.SHOT) { await screen.focus(); await page.keyboard.press("Shift+Tab"); await page.keyboard.press("Tab"); await page.screenshot({ path: "/tmp/n.png" }); }
  assert.ok(await screen.evaluate((e) => e.scrollHeight <= e.clientHeight), "its end is cut");
  await alter(page, fleet, (s) => (s.name === "api" ? { ...s, word: "idle", word_since: s.started_at, question: null, activity: "idle", needs: { reason: "turn_ended", since: s.started_at } } : s));
  const head = page.locator("article", { has: page.locator('a:text-is("api")') }).locator("h3");
  await head.waitFor();
  assert.match(await head.textContent(), /^api idle \d+[sm]\s*$/);
  await page.unroute("**");
  await fleet.agentform("answer", "web", "no");
  await close();
});
