// Terminals of sessions in a container and in a pod, in a real Chromium: make check-kubernetes.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { chromium } from "playwright-core";
import { control, echoes, says, screen, shows, type } from "./browser.mjs";
import { Fleet, until } from "./fleet.mjs";

const { CHROMIUM, DOCKER_IMAGE, POD_IMAGE, NAMESPACE, KUBECONFIG } = process.env;
const block = (kind, image, more) => `
runtime "${kind}" "box" {
  image = "${image}"
  ${more}
}
session "${kind}" {
  agent   = agent.shell
  branch  = "agents/${kind}"
  runtime = runtime.${kind}.box
}
`;
const manifest = `
agent "shell" {
  command = ["bash", "--norc"]
}
${block("docker", DOCKER_IMAGE, 'network = "none"')}
${block("kubernetes", POD_IMAGE, `namespace = "${NAMESPACE}"\n  storage {\n    class = "local"\n    size = "1GiB"\n  }`)}
`;
let fleet;
let browser;

before(async () => {
  fleet = new Fleet(manifest, { KUBECONFIG, DOCKER_HOST: process.env.DOCKER_HOST ?? "" });
  await fleet.agentform("apply", "--auto-approve", "--wait");
  await fleet.serve();
  browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"] });
});
after(async () => {
  await browser?.close();
  await fleet?.remove();
});

for (const kind of ["docker", "kubernetes"]) {
  test(`a terminal in ${kind} is typed into, and has the page's size`, async () => {
    const page = await browser.newPage({ viewport: { width: 1000, height: 600 } });
    page.setDefaultTimeout(60000);
    await page.goto(await fleet.newLink());
    await page.waitForSelector("header nav");
    await page.evaluate((k) => (location.hash = `#/s/session.${k}/terminal`), kind);
    await says(page, "You are watching");
    await control(page);
    await type(page, "echo in-$((40+2))\n");
    await shows(page, "in-42");
    const size = () => page.evaluate(() => [document.querySelector(".terminal").terminal.rows, document.querySelector(".terminal").terminal.cols]);
    await until("the session has the page's size", async () => {
      await type(page, "stty size\n");
      const [rows, cols] = await size();
      return (await screen(page)).includes(`${rows - 1} ${cols}`); // tmux has a line of its own
    });
    const times = await echoes(page);
    console.log(`${kind}: echo: median ${times[50].toFixed(1)} ms, p99 ${times[98].toFixed(1)} ms`);
    assert.ok(times[50] <= 1000, `median ${times[50]} ms`);
    await page.close();
  });
}
