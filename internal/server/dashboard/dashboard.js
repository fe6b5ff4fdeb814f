import { verbs, row, counts, line, stream } from "/model.mjs";

const $ = (id) => document.getElementById(id);
const kept = 200; // events on the page
let token = sessionStorage.getItem("token") ?? "";
let last = ""; // the id of the last event
let due = 0; // when the table is asked for again
let listening = false;

// element makes one with a text. Text is all that ever comes from outside.
function element(name, text = "", classes = "") {
  const e = document.createElement(name);
  e.textContent = text;
  if (classes) e.className = classes;
  return e;
}

async function ask(path, options = {}) {
  const headers = { ...options.headers };
  if (token) headers.Authorization = `Bearer ${token}`;
  const answer = await fetch(path, { ...options, headers, cache: "no-store", redirect: "error" });
  if (answer.ok) return answer;
  const said = await answer.json().catch(() => ({ error: { message: answer.statusText, next: "" } }));
  const problem = new Error([said.error.message, said.error.next].filter(Boolean).join("\n"));
  problem.status = answer.status;
  throw problem;
}

function trouble(problem) {
  if (problem?.status === 401) {
    lock(token ? problem.message : "");
    return;
  }
  $("trouble").hidden = !problem;
  $("trouble").textContent = problem ? problem.message : "";
}

// lock asks for the token, and forgets the one there is.
function lock(why) {
  token = "";
  listening = false;
  sessionStorage.removeItem("token");
  $("room").hidden = true;
  $("door").hidden = false;
  $("connection").textContent = why || "token required";
  $("token").focus();
}

function draw(d) {
  $("counts").textContent = counts(d.counts, d.wrong_branch);
  const rows = d.sessions.map((s) => {
    const r = row(s);
    const tr = document.createElement("tr");
    const cell = (text, classes, ...more) => {
      const td = element("td", text, classes);
      for (const m of more) if (m) td.append(element("small", m));
      tr.append(td);
      return td;
    };
    cell(r.address, "");
    cell(r.state, r.state, r.detail);
    cell(r.activity, r.activity, r.question);
    cell(r.branch, r.strayed ? "error" : "", r.strayed);
    cell(r.restarts, "", r.next);
    const hand = cell("", "hand");
    for (const v of verbs.filter((v) => r.verbs.includes(v.name))) {
      const b = element("button", v.label);
      b.type = "button";
      b.dataset.verb = v.name;
      b.addEventListener("click", () => tell(r.address, v));
      hand.append(b);
    }
    return tr;
  });
  $("sessions").replaceChildren(...rows);
}

async function look() {
  clearTimeout(due);
  try {
    draw(await (await ask("/v1/sessions")).json());
    $("door").hidden = true;
    $("room").hidden = false;
    if (token) sessionStorage.setItem("token", token);
    if (!listening) listen();
  } catch (problem) {
    trouble(problem);
    if (problem.status === 401) return;
  }
  due = setTimeout(look, 5000);
}

// tell tells a session something, when the person is sure.
async function tell(address, verb) {
  $("question").textContent = `${verb.label}: ${address}?`;
  $("yes").textContent = verb.label;
  const sure = $("sure");
  sure.returnValue = "no";
  sure.showModal();
  await new Promise((closed) => sure.addEventListener("close", closed, { once: true }));
  if (sure.returnValue !== "yes") return;
  trouble(null);
  try {
    await ask(`/v1/sessions/${encodeURIComponent(address)}/${verb.name}`, { method: "POST" });
  } catch (problem) {
    trouble(problem);
  }
  look();
}

function show({ id, event }) {
  last = id;
  const { time, text } = line(event);
  const li = document.createElement("li");
  li.append(element("time", time), element("span", text));
  $("events").prepend(li);
  while ($("events").childElementCount > kept) $("events").lastElementChild.remove();
  clearTimeout(due);
  due = setTimeout(look, 200); // several come at once
}

// listen hears the events, and again when the stream breaks, from where it was.
async function listen() {
  listening = true;
  for (let wait = 500; listening; wait = Math.min(wait * 2, 10000)) {
    try {
      const answer = await ask("/v1/events", { headers: last ? { "Last-Event-ID": last } : {} });
      $("connection").textContent = "connected";
      wait = 500;
      const take = stream(show);
      for (const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader(); ; ) {
        const { value, done } = await reader.read();
        if (done) break;
        take(value);
      }
    } catch (problem) {
      if (problem.status === 401) lock(problem.message);
      if (problem.status === 400) last = ""; // not an id of this hub's
    }
    if (!listening) return;
    $("connection").textContent = "not connected; retrying";
    await new Promise((on) => setTimeout(on, wait));
  }
}

$("door").addEventListener("submit", (e) => {
  e.preventDefault();
  token = $("token").value.trim();
  $("token").value = "";
  look();
});

look();
