// Measures the page in Chromium, by a link that logs in: until two hundred sessions are painted, until an event is
// on the screen, and what the wall takes at rest. It says "event" when it waits for one, and at the end what it found.
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { chromium } from "playwright-core";
import { options } from "./browser.mjs";

const [link, events, seconds] = [process.argv[2], Number(process.argv[3]), Number(process.argv[4])];
const server = await chromium.launchServer(options);
const browser = await chromium.connect(server.wsEndpoint());
const context = await browser.newContext({ viewport: { width: 1440, height: 810 } });
const page = await context.newPage();
await page.goto(link);
await page.waitForSelector(".rows .row a");

// A page that is opened again has its modules, as on any day but the first.
await context.addInitScript(() => {
  const look = () => (document.querySelector(".rows .row a") ? setTimeout(() => (window.painted = performance.now())) : requestAnimationFrame(look));
  requestAnimationFrame(look);
});
const paints = [];
for (let i = 0; i < 7; i++) {
  const other = await context.newPage();
  await other.goto(new URL(link).origin);
  paints.push(await other.waitForFunction(() => window.painted).then((x) => x.jsonValue()));
  await other.close();
}

// An event says when it was.
await page.evaluate(() => {
  const late = (window.late = new Map());
  new MutationObserver(() => {
    const [, at] = /at (\d{13})/.exec(document.querySelector(".rows").textContent) ?? [];
    if (!at || late.has(at)) return;
    late.set(at, 0);
    requestAnimationFrame(() => setTimeout(() => late.set(at, Date.now() - at)));
  }).observe(document.body, { subtree: true, childList: true, characterData: true });
});
await page.waitForSelector(".connection.on");
for (let i = 1; i <= events; i++) {
  await sleep(200); // the page is at rest
  console.log("event");
  await page.waitForFunction((n) => [...window.late.values()].filter(Boolean).length === n, i);
}
const late = await page.evaluate(() => [...window.late.values()]);

await page.evaluate(() => (location.hash = "#/wall"));
await page.waitForFunction(() => [...document.querySelectorAll(".tile pre")].filter((x) => x.textContent).length === 12);
await sleep(2000);
const before = processorTime(server.process().pid);
await sleep(1000 * seconds);
const wall = (processorTime(server.process().pid) - before) / seconds;
console.log(JSON.stringify({ paints, late, wall }));
await browser.close();
await server.close();

// processorTime is what a process and those that it has started took so far, in seconds.
function processorTime(root) {
  const all = new Map();
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      const fields = readFileSync(`/proc/${pid}/stat`, "utf8").replace(/^.*\) /s, "").split(" ");
      all.set(Number(pid), { parent: Number(fields[1]), took: (Number(fields[11]) + Number(fields[12])) / 100 });
    } catch {
      // it has ended
    }
  }
  const within = (pid) => pid === root || (all.has(pid) && within(all.get(pid).parent));
  return [...all].filter(([pid]) => within(pid)).reduce((sum, [, p]) => sum + p.took, 0);
}
