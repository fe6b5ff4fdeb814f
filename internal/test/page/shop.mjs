// A fleet of twelve that looks like a day's work, for the pictures of the page and the checks of all its views.
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Fleet, until } from "./fleet.mjs";

// agent is a scripted agent that shows the name and has the price of a real one.
const agent = (name, shown, model) => `
agent "${name}" {
  base    = "claude"
  command = ["fakeagent", "-as-claude"]
  env     = { FAKE_NAME = "${shown}", FAKE_MODEL = "${model}" }
}`;

// session is a session of the fleet. says is what its agent answers, after the file until is there.
function session([name, by, role, prompt, says, tokens, more = "", until = ""]) {
  const env = { FAKE_REPLY: says, FAKE_TOKENS: String(tokens), ...(until && { FAKE_UNTIL: until }) };
  return `
session "${name}" {
  agent  = agent.${by}
  role   = "${role}"
  branch = "agents/${name}"
  prompt = ${JSON.stringify(prompt)}
  env    = { ${Object.entries(env).map(([k, v]) => `${k} = ${JSON.stringify(v)}`).join(", ")} }
${more}}`;
}

const verify = '  verify {\n    command = ["grep", "-q", "Tax", "cart.go"]\n  }\n';
const sessions = [
  ["payments", "claude-code", "backend", "Retry failed charges three times, with a growing pause.", "Charges are retried now. May I run the integration tests?", 412000],
  ["checkout", "claude-code", "frontend", "Move the checkout to the new form components.", "The address form is moved. Payment comes next.", 268000, "", "never"],
  ["search", "codex-cli", "backend", "Make the search tolerate typing errors.", "Results with one wrong letter are found. The index grows by 11 %.", 351000],
  ["billing", "codex-cli", "backend", "Round totals to cents in one place.", "Totals are rounded in Total only. All tests pass.", 198000, verify],
  ["catalog", "gemini-cli", "backend", "Cache product pages for a minute.", "Pages are cached, keyed by language.", 143000],
  ["login", "claude-code", "frontend", "Explain failed logins in plain words.", "The messages are rewritten; none says whether an account exists.", 96000],
  ["mobile", "gemini-cli", "frontend", "Fix the layout of the cart on narrow screens.", "The cart fits 320 px.", 74000, "  restart {\n    policy = \"never\"\n  }\n"],
  ["docs", "claude-code", "docs", "Document the webhooks.", "Each webhook has an example now.", 121000],
  ["e2e", "codex-cli", "quality", "Find out why the nightly run is flaky.", "Two tests share an order number. I can separate them.", 233000],
  ["infra", "claude-code", "infra", "Upgrade the database driver.", "The driver is upgraded; one deprecated call is left.", 64000],
  ["i18n", "gemini-cli", "frontend", "Translate the checkout into French.", "41 of 58 texts are translated.", 87000, "", "never"],
  ["reviews", "claude-code", "backend", "Show verified purchases in reviews.", "", 0, '  depends_on = [{ session = session.checkout, until = "turn" }]\n'],
];

export const manifest = `
${agent("claude-code", "Claude Code v2.1.197", "claude-haiku-4-5")}
${agent("codex-cli", "OpenAI Codex (v0.98.0)", "claude-haiku-4-5")}
${agent("gemini-cli", "Gemini CLI v0.31.0", "claude-haiku-4-5")}
${sessions.map(session).join("\n")}
`;

// shop returns the fleet with its hub: one asks, two work, one is on another branch, one has exited, one is
// paused, one stopped, one waits for another, one is verified, and two cannot be merged.
export async function shop() {
  const fleet = new Fleet(manifest, {}, "max_running = 12");
  try {
    await work(fleet);
  } catch (e) {
    await fleet.remove();
    throw e;
  }
  return fleet;
}

// work lets the agents of the fleet do what they do.
async function work(fleet) {
  const write = (dir, name, text) => {
    mkdirSync(join(dir, name, ".."), { recursive: true });
    writeFileSync(join(dir, name), text);
  };
  const git = (dir, ...args) => execFileSync("git", args, { cwd: dir, env: fleet.env });
  write(fleet.shop, "cart.go", "package cart\n\nimport \"math\"\n\n// Total adds the prices of items.\nfunc Total(items []Item) float64 {\n\tsum := 0.0\n\tfor _, i := range items {\n\t\tsum += i.Price * float64(i.Count)\n\t}\n\treturn sum\n}\n");
  git(fleet.shop, "commit", "-qam", "Add the cart");
  await fleet.agentform("apply", "--auto-approve");
  await fleet.serve();
  const { sessions: all } = await fleet.json("status");
  const place = (name) => all.find((s) => s.name === name).workspace;
  const rests = async (name) => (await fleet.json("status", name)).sessions[0].activity === "idle";
  for (const name of ["payments", "search", "billing", "docs", "e2e", "mobile", "login"]) await until(`${name} rests`, () => rests(name), 20000, () => execFileSync("agentform", ["--no-color", "status", "--wide"], { cwd: fleet.shop, env: fleet.env }));
  const total = (body) => `package cart\n\nimport "math"\n\n// Total adds the prices of items, rounded to cents.\nfunc Total(items []Item) float64 {\n\tsum := 0.0\n\tfor _, i := range items {\n\t\tsum += i.Price * float64(i.Count)\n\t}\n\treturn ${body}\n}\n`;
  write(place("billing"), "cart.go", total("math.Round(100*sum*(1+Tax)) / 100"));
  git(place("billing"), "commit", "-qam", "Round totals once");
  write(place("search"), "cart.go", total("math.Floor(100*sum) / 100"));
  write(place("search"), "search/fuzzy.go", "package search\n\n// Distance counts the letters that differ.\nfunc Distance(a, b string) int { return 0 }\n");
  write(place("payments"), "retry.go", "package cart\n\nimport \"time\"\n\nvar pauses = []time.Duration{time.Second, 4 * time.Second, 16 * time.Second}\n");
  git(place("docs"), "checkout", "-qb", "webhooks");
  await fleet.agentform("send", "billing", "Thanks. Is there a test for it?");
  await fleet.agentform("send", "search", "Good. Round the prices as billing does.");
  await fleet.agentform("send", "mobile", "exit 3").catch(() => {});
  await fleet.agentform("pause", "e2e");
  await fleet.agentform("stop", "infra");
  await fleet.agentform("send", "payments", "ask go test ./integration/...");
  await until("all is as in the pictures", async () => {
    const { sessions: now } = await fleet.json("status");
    const words = now.map((s) => s.word);
    return now.some((s) => s.conflicts?.length) && ["asks", "working", "wrong branch", "exited", "paused", "stopped", "verified"].every((w) => words.includes(w));
  }, 120000, async () => (await fleet.agentform("status")));
}
