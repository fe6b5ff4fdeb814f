// A project with real sessions in tmux and its hub, for the tests of the page.
import { execFile, execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

export const manifest = `
agent "fake" {
  base    = "claude"
  command = ["fakeagent", "-as-claude"]
}
agent "shell" {
  command = ["sh", "-c", "echo ready; while read -r l; do eval \\"$l\\"; done"]
}
session "api" {
  agent  = agent.fake
  branch = "agents/api"
}
session "web" {
  agent  = agent.fake
  role   = "builder"
  branch = "agents/web"
}
session "shell" {
  agent  = agent.shell
  branch = "agents/shell"
}
session "cat" {
  agent  = agent.shell
  branch = "agents/cat"
}
`;

export class Fleet {
  constructor(text = manifest, environ = {}, settings = "") {
    this.dir = mkdtempSync("/tmp/afp-"); // short: sockets
    for (const d of ["home", "run", "shop"]) mkdirSync(join(this.dir, d), { mode: 0o700 });
    this.shop = join(this.dir, "shop");
    this.env = {
      PATH: `${process.env.BIN}:${process.env.PATH}`, HOME: join(this.dir, "home"), XDG_RUNTIME_DIR: join(this.dir, "run"),
      GIT_AUTHOR_NAME: "ada", GIT_AUTHOR_EMAIL: "ada@example.com", GIT_COMMITTER_NAME: "ada", GIT_COMMITTER_EMAIL: "ada@example.com", ...environ,
    };
    writeFileSync(join(this.shop, "agentform.hcl"), `agentform {\n  project = "shop"\n  ${settings}\n}\n${text}`);
    writeFileSync(join(this.shop, "cart.go"), "package cart\n\nfunc Total() int { return 0 }\n");
    for (const args of [["init", "-q", "-b", "main"], ["add", "."], ["commit", "-qm", "first"]]) execFileSync("git", args, { cwd: this.shop, env: this.env });
  }

  async agentform(...args) {
    const { stdout } = await run("agentform", ["--no-color", ...args], { cwd: this.shop, env: this.env, maxBuffer: 64 << 20 });
    return stdout;
  }

  async json(...args) {
    return JSON.parse(await this.agentform(...args, "--json"));
  }

  // serve starts the hub as a child and returns when it listens.
  async serve(port = 0, ...args) {
    this.hub = spawn("agentform", ["serve", "--listen", `127.0.0.1:${port}`, ...args], { cwd: this.shop, env: this.env, stdio: ["ignore", "pipe", "pipe"] });
    this.log = "";
    this.hub.stderr.on("data", (b) => (this.log += b));
    let said = "";
    this.hub.stdout.on("data", (b) => (said += b));
    await until("the hub prints a link", () => /http:\S+/.test(said) || this.hub.exitCode !== null, 60000, () => this.log);
    if (!/http:\S+/.test(said)) throw new Error(`the hub has ended: ${said} ${this.log}`);
    this.link = /http:\S+/.exec(said)[0];
    this.origin = new URL(this.link).origin;
    await until("the hub answers", () => this.agentform("open", "--print").then(() => true, () => false));
  }

  async newLink(...args) {
    return /http:\S+/.exec(await this.agentform("open", "--print", ...args))[0];
  }

  kill(signal = "SIGKILL") {
    return new Promise((done) => {
      if (this.hub.exitCode !== null || this.hub.signalCode) return done();
      this.hub.once("exit", done);
      this.hub.kill(signal);
    });
  }

  async remove() {
    if (this.hub) await this.kill("SIGTERM");
    await this.agentform("destroy", "--auto-approve").catch((e) => console.error(e.stderr));
    rmSync(this.dir, { recursive: true, force: true });
  }
}

export async function until(what, is, ms = 60000, more = () => "") {
  for (const end = Date.now() + ms; ; await sleep(20)) {
    if (await is()) return;
    if (Date.now() > end) throw new Error(`not within ${ms / 1000} s: ${what} ${more()}`);
  }
}
