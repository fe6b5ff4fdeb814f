// What tests do with a browser, a page and its terminal.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";
import { until } from "./fleet.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
export const program = process.env.CHROMIUM ?? "/usr/bin/chromium";

export const options = { executablePath: program, args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"] };
export const launch = () => chromium.launch(options);

export async function accessible(page, what) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => axe.run(document, { resultTypes: ["violations"] }));
  const serious = violations.filter((v) => ["serious", "critical"].includes(v.impact));
  assert.deepEqual(serious.map((v) => `${what}: ${v.id}: ${v.nodes.map((n) => n.html.slice(0, 200)).slice(0, 3).join(" | ")}`), []);
}

// visit returns a page of a new login at a view, which shows a text, and what closes it and checks that nothing failed.
export async function visit(browser, fleet, options, hash, text) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  page.setDefaultTimeout(Number(process.env.PATIENCE ?? 30000));
  const problems = [];
  page.on("pageerror", (e) => problems.push(e.message));
  const asked = new Map(); // requests without an answer, and answers that are none
  page.on("request", (r) => asked.set(r, `${r.method()} ${r.url()}`));
  page.on("response", (r) => (r.ok() ? asked.delete(r.request()) : asked.set(r.request(), `${r.status()} ${r.url()}`)));
  page.on("requestfailed", (r) => asked.set(r, `${r.failure()?.errorText} ${r.url()}`));
  await page.goto(await fleet.newLink());
  await page.waitForSelector(".row a").catch(async (e) => {
    const shown = await page.evaluate(() => document.body.innerText.slice(0, 500));
    throw new Error(`${e.message}\nthe page shows:\n${shown}\nnot answered:\n${[...asked.values()].join("\n")}\nerrors: ${problems}`);
  });
  await page.evaluate((h) => (location.hash = h), hash);
  await says(page, text, "body");
  return { page, close: () => (assert.deepEqual(problems, []), context.close()) };
}

// alter changes the sessions that a page gets.
export function alter(page, fleet, change) {
  const all = "/v1/sessions?ranked=true"; // not only what has changed
  return page.route(`**${all}*`, async (route) => {
    const response = await route.fetch({ url: fleet.origin + all });
    const d = await response.json();
    await route.fulfill({ response, json: { ...d, sessions: d.sessions.map(change) } });
  });
}

export const says = (page, text, where = "main") => page.waitForFunction(([t, w]) => document.querySelector(w)?.textContent.includes(t), [text, where]);

// screen returns what the terminal has, also above the screen; nothing before there is one.
export const screen = (page) =>
  page.evaluate(() => {
    const b = document.querySelector(".terminal")?.terminal?.buffer.active;
    if (!b) return "";
    let text = "";
    for (let i = 0; i < b.length; i++) text += `${b.getLine(i).translateToString(true)}\n`;
    return text;
  });
export const shows = (page, text) => until(`the terminal shows ${text}`, async () => (await screen(page)).includes(text), 60000, () => "");

export async function control(page) {
  await page.click("button.control");
  await says(page, "You control this terminal");
}

export async function type(page, text) {
  await page.evaluate((t) => document.querySelector(".terminal").terminal.input(t), text);
}

// echoes returns how long keys took to be on the screen, in ms, sorted.
export async function echoes(page) {
  return page.evaluate(async () => {
    const t = document.querySelector(".terminal").terminal;
    const times = [];
    const line = () => t.buffer.active.getLine(t.buffer.active.baseY + t.buffer.active.cursorY).translateToString(true);
    for (let i = 0; i < 100; i++) {
      const was = line();
      const began = performance.now();
      const echoed = new Promise((done) => {
        const d = t.onWriteParsed(() => line() !== was && (d.dispose(), done()));
      });
      t.input("abcdefghij"[i % 10]);
      await echoed;
      times.push(performance.now() - began);
      await new Promise((done) => setTimeout(done, 10));
    }
    return times.sort((a, b) => a - b);
  });
}
