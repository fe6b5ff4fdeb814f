// All views of a fleet that looks like a day's work, in both themes, on a desktop and a phone: make check-page.
// SCREENSHOTS names a directory for pictures of them.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { accessible, alter, launch, says, visit } from "./browser.mjs";
import { shop } from "./shop.mjs";

const screenshots = process.env.SCREENSHOTS;
const desktop = { viewport: { width: 1440, height: 810 } };
const tablet = { viewport: { width: 820, height: 1180 } };
const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };
let fleet;
let browser;

before(async () => {
  fleet = await shop();
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await fleet?.remove();
});

const open = (...at) => visit(browser, fleet, ...at);

// views are what is shown, where, and a text that is there when it is complete.
const views = {
  fleet: ["#/", "payments"],
  wall: ["#/wall", "go test ./integration"],
  "needs-you": ["#/needs", "go test ./integration"],
  plan: ["#/plan", "branch mismatch"],
  report: ["#/report", "active sessions"],
  usage: ["#/usage", "list prices"],
  terminal: ["#/s/session.payments/terminal", "You are watching"],
  conversation: ["#/s/session.billing/conversation", "Round totals to cents"],
  timeline: ["#/s/session.billing/timeline", "verified"],
  changes: ["#/s/session.search/changes", "fuzzy.go"],
  details: ["#/s/session.billing/details", "workspace"],
};
const ways = { "": desktop, "-dark": { ...desktop, colorScheme: "dark" }, "-tablet": tablet, "-phone": phone, "-phone-dark": { ...phone, colorScheme: "dark" } };

for (const [way, options] of Object.entries(ways)) {
  test(`all views are whole and accessible${way.replaceAll("-", " ")}`, async () => {
    for (const [view, [hash, text]] of Object.entries(views)) {
      const { page, close } = await open(options, hash, text);
      await page.waitForTimeout(view === "terminal" || view === "wall" ? 500 : 100); // it draws
      await accessible(page, `${view}${way}`);
      const { scroll, width } = await page.evaluate(() => ({ scroll: document.documentElement.scrollWidth, width: innerWidth }));
      assert.ok(scroll <= width, `${view}${way} has ${scroll} px in ${width}`);
      if (screenshots) await page.screenshot({ path: join(screenshots, `${view}${way}.png`) });
      await close();
    }
  });
}

test("what no verb does is a command to copy, and only that", async () => {
  const { page, close } = await open({ ...desktop, permissions: ["clipboard-read", "clipboard-write"] }, "#/needs", "wrong branch");
  const { width } = await page.locator("article", { hasText: "docs" }).getByText("Copy the command").boundingBox();
  await page.locator("article", { hasText: "docs" }).getByText("Copy the command").click();
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  assert.match(copied, /^git -C \S+ switch agents\/docs$/);
  assert.equal(await page.locator("article", { hasText: "docs" }).locator(".remedy code").textContent(), copied);
  const copy = page.locator("article", { hasText: "docs" }).locator(".remedy button");
  await copy.getByText("Copied").waitFor();
  for (let i = 0; i < 2; i++) {
    await page.waitForTimeout(1100 * i); // the page is drawn each second
    assert.equal((await copy.textContent()).trim(), "Copied");
    assert.equal((await copy.boundingBox()).width, width, "its place is kept");
  }
  assert.equal(await page.locator("article", { hasText: "mobile" }).locator(".remedy").count(), 0); // Restart does it
  await close();
});

test("the head is one row at every width, and says how many of the places are taken", async () => {
  const { page, close } = await open(desktop, "#/", "payments");
  const { places } = await fleet.json("status");
  assert.equal(places.max_running, 12);
  await says(page, `${places.running} of 12 running`, "header");
  await says(page, "today", "header");
  for (const width of [1440, 1280, 1200, 1100, 1001, 820, 600, 360]) {
    await page.setViewportSize({ width, height: 800 });
    const { height, scroll } = await page.evaluate(() => ({ height: document.querySelector("header").offsetHeight, scroll: document.documentElement.scrollWidth }));
    assert.ok(height <= 48 && scroll <= width, `${width}: the head is ${height} px high, the page ${scroll} wide`);
  }
  await close();
});

test("above the changes is what verification found, and where its output is", async () => {
  const { sessions } = await fleet.json("status", "billing");
  const { verified: v } = sessions[0];
  const { page, close } = await open(phone, "#/s/session.billing/changes", "1 commit ahead");
  const line = page.locator(".diff .verified");
  assert.match(await line.textContent(), new RegExp(`^verified ${v.commit.slice(0, 7)} at \\d\\d:\\d\\d\\s*output: ${v.log}$`));
  assert.ok(v.log.endsWith("verify.log"), v.log);
  const red = { ...v, ok: false, word: "red 2/3", round: 2, rounds: 3, detail: `exit status 2: <b>FAIL ${"x".repeat(200)}` };
  await alter(page, fleet, (s) => (s.name === "billing" ? { ...s, verified: red } : s));
  await says(page, "red 2/3", ".diff .verified");
  await says(page, "exit status 2: <b>FAIL xxx", ".diff .verified");
  assert.ok(await page.evaluate(() => document.querySelector(".diff").scrollWidth <= document.querySelector(".diff").clientWidth));
  await accessible(page, "changes that are red");
  await page.evaluate(() => (location.hash = "#/s/session.search/changes"));
  await says(page, "fuzzy.go");
  assert.equal(await line.count(), 0);
  await close();
});

test("each row has the word of the command line", async () => {
  const { page, close } = await open(desktop, "#/", "payments");
  const { sessions } = await fleet.json("status");
  for (const s of sessions) {
    const row = page.locator(".rows .row", { has: page.locator(`a:text-is("${s.name}")`) });
    const text = await row.locator(".word").textContent();
    assert.ok(text === s.word || text.startsWith(`${s.word} `), `${s.name} is ${text}, and ${s.word}`);
    assert.equal(await row.locator(`.word.${s.tone}`).count(), 1, s.name);
  }
  assert.match(await page.title(), /^\(\d+\) shop/);
  assert.equal(await page.locator('.rows .word.active:has-text("verified")').count(), 1); // it is good news
  await page.keyboard.press("Control+k");
  await says(page, "12 of 18 are shown. Type more letters to find the others.", "dialog [role=status]");
  await close();
});

test("the wall shows twelve whole, and on a phone the whole question", async () => {
  const { page, close } = await open(desktop, "#/wall", "go test ./integration");
  const tiles = page.locator(".tile");
  assert.equal(await tiles.count(), 12);
  const end = await page.evaluate(() => Math.max(...[...document.querySelectorAll(".tile")].map((t) => t.getBoundingClientRect().bottom)));
  assert.ok(end <= 810, `the last row ends at ${end}`);
  await close();
  const small = await open(phone, "#/wall", "go test ./integration");
  for (const tile of await small.page.locator(".tile").all()) assert.ok(await tile.evaluate((t) => t.scrollHeight <= t.clientHeight), await tile.getAttribute("aria-label"));
  await small.close();
});

test("the usage has the width of the page", async () => {
  const { page, close } = await open(desktop, "#/usage", "list prices");
  const { width } = await page.locator(".usage table").boundingBox();
  assert.ok(width > 1300, `${width} px`);
  assert.ok((await page.locator(".usage tbody meter").first().boundingBox()).width > 500);
  await close();
});

test("what is least needed leaves a narrow fleet first, and conflicts never", async () => {
  for (const width of [1440, 1024, 820]) {
    const { page, close } = await open({ viewport: { width, height: 768 } }, "#/", "payments");
    await says(page, "today $", "header");
    const title = (name) => page.locator('.row.head [role="columnheader"]', { hasText: name });
    const cell = (name, what) => page.locator(".rows .row", { has: page.locator(`a:text-is("${name}")`) }).locator(what);
    for (const [name, what] of [["Cost", ".c-cost"], ["Merging", ".c-merge"], ["Branch", ".c-branch"]]) {
      const [a, b] = [await title(name).boundingBox(), await cell("search", what).boundingBox()];
      assert.ok(a && b && a.x === b.x && a.width === b.width, `${name} at ${width}`);
    }
    assert.ok((await cell("search", ".conflict").boundingBox()).width > 80, `conflicts at ${width}`);
    assert.equal(await title("Changes").isVisible(), width > 960);
    assert.equal(await title("Age").isVisible(), width > 1200);
    await close();
  }
});

test("on a phone all views are in reach, and a card of the fleet has what a row has", async () => {
  const { page, close } = await open({ ...phone, viewport: { width: 360, height: 740 } }, "#/", "payments");
  for (const a of await page.locator("nav.views a").all()) {
    const b = await a.boundingBox();
    assert.ok(b.x >= 0 && b.x + b.width <= 360, `${await a.textContent()}: ${b.x + b.width}`);
  }
  for (const part of await page.locator("header > :visible").all()) {
    const b = await part.boundingBox();
    assert.ok(b.x >= 0 && b.x + b.width <= 360, `${await part.textContent()} ends at ${b.x + b.width}`);
  }
  await page.click('button:text-is("More")');
  await says(page, "shop", "dialog h2");
  await says(page, "of 12 running", "dialog");
  await accessible(page, "more on a phone");
  await page.click('dialog button:text-is("Keys")');
  await page.waitForSelector('dialog[aria-label="Keys"]');
  await page.keyboard.press("Escape");
  const card = (name) => page.locator(".rows .row", { has: page.locator(`a:text-is("${name}")`) });
  const inside = async (x, what) => {
    const b = await x.boundingBox();
    assert.ok(b && b.x >= 0 && b.x + b.width <= 360, what);
    assert.ok(await x.evaluate((e) => e.scrollWidth <= e.clientWidth), `${what} is cut`);
    return b;
  };
  const { sessions } = await fleet.json("status");
  for (const s of sessions) {
    const [word, name] = [card(s.name).locator('[role="cell"]:has(.word)'), card(s.name).locator(".c-session")];
    assert.ok((await inside(word, s.word)).y === (await name.boundingBox()).y, s.name);
  }
  assert.match(await card("payments").locator(".c-number").first().textContent(), /^\$/);
  await inside(card("payments").locator(".c-number").first(), "cost");
  await inside(card("search").locator(".c-merge"), "conflict");
  const merge = await card("search").locator(".c-merge").boundingBox();
  const all = await card("search").boundingBox();
  const now = await card("search").locator(".c-now").boundingBox();
  const left = merge.x - now.x - now.width;
  assert.ok(left >= 0 && left <= 9, `${left} px between what it does and what it cannot be merged with`);
  const [whole, other] = [await card("login").boundingBox(), await card("login").locator(".c-now").boundingBox()];
  assert.ok(whole.x + whole.width - other.x - other.width < 20, "what it does has the width of its card");
  assert.equal(await page.locator(".row.head").isVisible(), false); // no columns are below it
  const filter = await page.locator("#filter").evaluate((e) => {
    const draw = document.createElement("canvas").getContext("2d");
    draw.font = getComputedStyle(e).font;
    return e.clientWidth - 20 - draw.measureText(e.placeholder).width;
  });
  assert.ok(filter >= 0, `the hint of the filter lacks ${-filter} px`);
  assert.ok(merge.y + merge.height <= all.y + all.height && all.height === 64);
  for (const name of ["payments", "search"]) await card(name).locator("input").check();
  await says(page, "2 selected", ".bulk");
  await card("catalog").locator(".c-now").click();
  await page.click('button:text-is("Actions…")');
  const sheet = await page.locator("dialog.sheet").boundingBox();
  assert.ok(Math.abs(sheet.y + sheet.height - 740) <= 1 && sheet.width === 360, JSON.stringify(sheet));
  await close();
});
