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
