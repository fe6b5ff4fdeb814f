//go:build agents

package agenttest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/internal/test/agenttest"
	"github.com/agentform/agentform/internal/test/modelserver"
	"github.com/agentform/agentform/internal/test/wait"
	"github.com/agentform/agentform/internal/usage"
	"github.com/agentform/agentform/session"
)

// spare is how long before the deadline of the test no further conversation begins.
const spare = 2 * time.Minute

// usageCaptures is the environment variable with the folder that the session files of
// TestUsage are recorded in: internal/usage/testdata. Empty: none are.
const usageCaptures = "AGENTFORM_USAGE_CAPTURES"

// conversations and seed are the environment variables with the number of conversations
// that TestUsageOfManyConversations has with each agent, and with what they follow from.
const (
	conversations = "AGENTFORM_CONVERSATIONS"
	seed          = "AGENTFORM_SEED"
)

// meter reads the usage of one session of a lab, and compares it with what the model
// counted.
type meter struct {
	lab   *agenttest.Lab
	run   *agenttest.Run
	store *usage.Store
	data  string
	since time.Time
	paths map[string]string    // conversations, by the paths of their files
	read  map[string]time.Time // when those had been written to
	find  func()               // finds more of them; nil: there is one conversation
}

// modified returns when a file was written to. One that is gone was never: Gemini CLI
// removes a chat without messages.
func modified(path string) time.Time {
	info, err := os.Stat(path)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

func newMeter(t *testing.T, lab *agenttest.Lab) *meter {
	data := t.TempDir()
	return &meter{lab: lab, data: data, since: time.Now(), store: usage.New(data, unpriced), paths: map[string]string{}, read: map[string]time.Time{}}
}

func unpriced(string, session.Tokens, int64) (float64, bool) { return 0, false }

// work are the settings of a run that asks nothing.
func work(in *session.StartInput) { in.Spec.Agent.Permissions, in.Sandbox = "all", true }

// start starts the agent with a prompt, in a conversation of before if that is not "".
func (m *meter) start(prompt, conversation string, changes ...func(*session.StartInput)) {
	changes = append([]func(*session.StartInput){work, func(in *session.StartInput) { in.Conversation = conversation }}, changes...)
	if conversation != "" { // what is typed while it loads the conversation is lost: the prompt comes with it
		m.run = m.lab.Start(prompt, changes...)
		if m.run.Start.Paste != "" {
			m.run.Until("it is ready", func(agenttest.Look) bool { return m.run.Ready() })
			m.say(prompt)
		}
		return
	}
	m.run = m.lab.Start("", changes...)
	m.run.Until("it is ready", func(agenttest.Look) bool { return m.run.Ready() })
	m.say(prompt)
}

// say types a message that the model will answer. Requests behind the scenes may come at
// any time.
func (m *meter) say(text string) {
	before := len(m.lab.Model.Turns())
	m.run.Type(text, func(agenttest.Look) bool { return len(m.lab.Model.Turns()) > before })
}

// update reads the usage, and returns it with what the model counted.
func (m *meter) update(t *testing.T) (read, counted session.Tokens) {
	t.Helper()
	files := m.run.Files()
	if n := m.run.Transcript(); n != nil && n.Conversation != "" && len(files) > 0 && m.paths[files[0]] == "" {
		m.paths[files[0]] = n.Conversation
	}
	if m.find != nil {
		m.find()
	}
	of := usage.Subject{ID: "api", Address: "session.api", Agent: m.lab.Agent, Run: "run", Since: m.since}
	a := agent.For(m.lab.Spec)
	newest := time.Time{}
	for path := range m.paths {
		if at := modified(path); at.After(newest) {
			newest = at
		}
	}
	for path, conversation := range m.paths {
		at := modified(path)
		if at.Equal(m.read[path]) && at.Before(newest) {
			continue // there may be hundreds
		}
		if err := m.store.Update(a, of, path, conversation, time.Now()); err != nil {
			t.Fatal(err)
		}
		m.read[path] = at
	}
	x, err := m.store.Get("api")
	if err != nil {
		t.Fatal(err)
	}
	return x.Total().Tokens, countedBy(m.lab)
}

// inFiles reports whether the agent's session files tell of an answer. Titles and the like are
// in no file; nor are the summaries of Claude Code and Gemini CLI.
func inFiles(agent string, s modelserver.Spent) bool {
	switch agent {
	case "claude":
		return !s.Side && !strings.HasPrefix(s.Prompt, "CRITICAL: Respond with TEXT ONLY.")
	case "opencode":
		return !s.Side || strings.Contains(s.Prompt, "anchored summary")
	case "qwen":
		return !s.Side || strings.Contains(s.Prompt, "<state_snapshot>")
	case "codex":
		return !s.Side || strings.Contains(s.Prompt, "CONTEXT CHECKPOINT COMPACTION")
	}
	return !s.Side
}

// countedBy returns what the model counted of the answers that the agent's files tell of.
func countedBy(lab *agenttest.Lab) session.Tokens {
	var all modelserver.Usage
	for _, s := range lab.Model.Spent() {
		if inFiles(lab.Agent, s) {
			all = all.Plus(s.Usage)
		}
	}
	return session.Tokens{Input: all.Input, CacheRead: all.CacheRead, CacheWrite: all.CacheWrite5m, CacheWrite1h: all.CacheWrite1h,
		Output: all.Output, Reasoning: all.Reasoning}
}

// answered returns how many answers the model has given that are not behind the scenes.
func (m *meter) answered() int {
	n := 0
	for _, s := range m.lab.Model.Spent() {
		if !s.Side && inFiles(m.lab.Agent, s) {
			n++
		}
	}
	return n
}

// until waits until the model has answered so often and the agent is idle, and checks
// that both counts agree then.
func (m *meter) until(t *testing.T, answers int) {
	t.Helper()
	m.settle(t, fmt.Sprintf("%d answers", answers), func() bool { return m.answered() >= answers })
}

// settle waits until something has happened and the agent is idle, and checks that both
// counts agree then.
func (m *meter) settle(t *testing.T, what string, happened func() bool) {
	t.Helper()
	defer func() {
		if t.Failed() {
			read, counted := m.update(t)
			t.Logf("the files say %+v, and the model counted %+v", read, counted)
		}
	}()
	m.run.Until(what+", and all of it in its files", func(l agenttest.Look) bool {
		if !happened() || l.Detection.Activity == session.Working {
			return false
		}
		read, counted := m.update(t)
		return read == counted
	})
	if read, counted := m.update(t); read != counted {
		t.Errorf("the files say %+v, and the model counted %+v", read, counted)
	}
}

// record keeps the files as a golden test of package usage.
func (m *meter) record(t *testing.T, folder, rule string) {
	dir := filepath.Join(folder, m.lab.Agent, rule)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	_, counted := m.update(t)
	if err := m.lab.CaptureUsage(dir, m.paths, counted); err != nil {
		t.Fatal(err)
	}
}

func uses(u modelserver.Usage) string {
	text, err := json.Marshal(u)
	if err != nil {
		panic(err) // numbers always marshal
	}
	return "[[usage " + string(text) + "]]"
}

// usageRules are what has to be right to count each token once.
var usageRules = []struct {
	agent, rule string
	have        func(t *testing.T, m *meter)
}{
	{"claude", "several-lines", func(t *testing.T, m *meter) {
		m.start("go "+uses(modelserver.Usage{Input: 11, CacheRead: 200, CacheWrite5m: 30, CacheWrite1h: 4, Output: 50})+
			" [[text I look.]] [[tool bash: echo a]] "+uses(modelserver.Usage{Input: 1, Output: 70})+" [[text Done.]]", "")
		m.until(t, 2)
	}},
	{"claude", "sub-agent", func(t *testing.T, m *meter) {
		m.start(`go [[tool Agent {"description":"d","prompt":"say it","subagent_type":"general-purpose"}]] `+
			uses(modelserver.Usage{Input: 2, Output: 70})+" [[text Done.]]", "")
		m.until(t, 3)
	}},
	{"claude", "resumed", goesOn},
	{"claude", "forked", func(t *testing.T, m *meter) {
		m.start("one "+uses(modelserver.Usage{Input: 11, Output: 50})+" [[text One.]]", "")
		m.until(t, 1)
		id := m.run.Transcript().Conversation
		m.run.Close()
		m.lab.UntilNone()
		m.start("two "+uses(modelserver.Usage{Input: 13, Output: 90})+" [[text Two.]]", id, func(in *session.StartInput) {
			in.Spec.Args = append(in.Spec.Args, "--fork-session")
		})
		m.run.Until("it goes on in another file", func(agenttest.Look) bool {
			all, err := filepath.Glob(filepath.Join(m.lab.Home, ".claude", "projects", "*", "*.jsonl"))
			if err != nil || len(all) < 2 {
				return false
			}
			for _, path := range all {
				m.paths[path] = strings.TrimSuffix(filepath.Base(path), ".jsonl")
			}
			return true
		})
		m.until(t, 2)
	}},
	{"claude", "retried", retried},
	{"claude", "interrupted", interrupted},
	{"codex", "cached", cached},
	{"codex", "resumed", goesOn},
	{"codex", "retried", retried},
	{"codex", "interrupted", interrupted},
	{"codex", "compacted", func(t *testing.T, m *meter) {
		m.start("one "+uses(modelserver.Usage{Input: 11, Output: 50})+" [[text One.]]", "")
		m.until(t, 1)
		compact(m, "/compact")
		m.run.Until("the conversation is compacted", func(l agenttest.Look) bool {
			return strings.Contains(string(joined(m.run.Lines())), `"type":"compacted"`) && l.Detection.Activity != session.Working
		})
		m.say("two " + uses(modelserver.Usage{Input: 13, Output: 90}) + " [[text Two.]]")
		m.until(t, 2)
	}},
	{"claude", "compacted", func(t *testing.T, m *meter) {
		m.start("one "+uses(modelserver.Usage{Input: 11, Output: 50})+" [[text One.]]", "")
		m.until(t, 1)
		m.say("two " + uses(modelserver.Usage{Input: 13, Output: 90}) + " [[text Two.]]")
		m.until(t, 2)
		compact(m, "/compact")
		m.run.Until("the conversation is compacted", func(agenttest.Look) bool {
			return strings.Contains(string(joined(m.run.Lines())), `"compact_boundary"`)
		})
		m.say("three " + uses(modelserver.Usage{Input: 17, Output: 70}) + " [[text Three.]]")
		m.until(t, 3)
	}},
	{"gemini", "compacted", func(t *testing.T, m *meter) {
		m.start("one "+uses(modelserver.Usage{Input: 41000, Output: 50})+" [[text One.]]", "")
		m.until(t, 1)
		compact(m, "/compress")
		m.run.Until("the conversation is compacted", shows("Chat history compressed"))
		m.say("two " + uses(modelserver.Usage{Input: 13, Output: 90}) + " [[text I look.]] [[tool bash: echo a]] " +
			uses(modelserver.Usage{Input: 17, Output: 70}) + " [[text Two.]]")
		m.until(t, 3)
	}},
	// A conversation that fills more than half of what the model can read is compacted
	// before the next message.
	{"gemini", "compacted-by-itself", func(t *testing.T, m *meter) {
		m.start("one "+uses(modelserver.Usage{Input: 700000, Output: 50})+" [[text One.]]", "")
		m.until(t, 1)
		m.say("two " + uses(modelserver.Usage{Input: 13, Output: 90}) + " [[text Two.]]")
		m.until(t, 2)
		if !slices.ContainsFunc(m.lab.Model.Spent(), func(s modelserver.Spent) bool { return s.Side && strings.Contains(s.Prompt, "<state_snapshot>") }) {
			t.Error("it was not compacted")
		}
	}},
	// Its model does not call the tool that ends a sub-agent, and is asked once more.
	{"gemini", "sub-agent", func(t *testing.T, m *meter) {
		m.start(`go [[tool invoke_agent {"agent_name":"codebase_investigator","prompt":"say it"}]] `+
			uses(modelserver.Usage{Input: 2, Output: 70})+" [[text Done.]]", "")
		m.until(t, 3)
		if all, err := filepath.Glob(filepath.Join(m.lab.Home, ".gemini/tmp/*/chats/*/*.jsonl")); err != nil || len(all) != 1 {
			t.Errorf("the sub-agent has the files %q: %v", all, err)
		}
	}},
	{"copilot", "cached", cached},
	{"copilot", "resumed", goesOn},
	{"copilot", "retried", retried},
	{"copilot", "compacted", func(t *testing.T, m *meter) {
		m.start("one "+uses(modelserver.Usage{Input: 11, Output: 50})+" [[text One.]]", "")
		m.until(t, 1)
		compact(m, "/compact")
		m.until(t, 2)
		m.say("two " + uses(modelserver.Usage{Input: 13, Output: 90}) + " [[text Two.]]")
		m.until(t, 3)
	}},
	{"gemini", "cached", cached},
	{"gemini", "resumed", goesOn},
	{"gemini", "retried", retried},
	{"opencode", "life", func(t *testing.T, m *meter) {
		m.start("one [[status 500 x1]] "+uses(modelserver.Usage{Input: 11, CacheRead: 200, CacheWrite5m: 30, Output: 50})+" [[text I look.]] [[tool bash: echo a]] "+
			uses(modelserver.Usage{Input: 1, Output: 70})+" [[text Done.]]", "")
		m.until(t, 2)
		m.say(`sub [[tool task {"description":"d","prompt":"say it","subagent_type":"general"}]] ` + uses(modelserver.Usage{Input: 2, Output: 7}) + " [[text Sub.]]")
		m.until(t, 5)
		id := m.run.Transcript().Conversation
		m.run.Close()
		m.lab.UntilNone()
		m.start("two "+uses(modelserver.Usage{Input: 13, Output: 90})+" [[text Two.]]", id)
		m.until(t, 6)
	}},
	{"qwen", "cached", cached},
	{"qwen", "resumed", goesOn},
	{"qwen", "retried", retried},
}

func joined(lines [][]byte) []byte {
	var all []byte
	for _, l := range lines {
		all = append(append(all, l...), '\n')
	}
	return all
}

// compact gives the agent's own command that compacts its conversation, and waits for the
// model's summary.
func compact(m *meter, command string) {
	spent := len(m.lab.Model.Spent())
	m.run.Type(command, func(agenttest.Look) bool { return len(m.lab.Model.Spent()) > spent })
}

// thinks reports whether an agent's model tells how much of its output is thoughts:
// Anthropic's API, which the others are tested with, does not.
func thinks(agent string) bool { return agent == "codex" || agent == "gemini" || agent == "qwen" }

func cached(t *testing.T, m *meter) {
	first := modelserver.Usage{Input: 11, CacheRead: 200, Output: 50, Reasoning: 20}
	if !thinks(m.lab.Agent) {
		first.Reasoning = 0
	}
	m.start("go "+uses(first)+" [[text I look.]] [[tool bash: echo a]] "+
		uses(modelserver.Usage{Input: 1, Output: 70})+" [[text Done.]]", "")
	m.until(t, 2)
	m.say("more " + uses(modelserver.Usage{Input: 13, CacheRead: 1, Output: 90}) + " [[text More.]]")
	m.until(t, 3)
}

func goesOn(t *testing.T, m *meter) {
	m.start("one "+uses(modelserver.Usage{Input: 11, Output: 50})+" [[text One.]]", "")
	m.until(t, 1)
	id := m.run.Transcript().Conversation
	m.run.Close()
	m.lab.UntilNone()
	m.start("two "+uses(modelserver.Usage{Input: 13, Output: 90})+" [[text Two.]]", id)
	m.until(t, 2)
}

func retried(t *testing.T, m *meter) {
	m.start("one [[status 500 x1]] "+uses(modelserver.Usage{Input: 11, Output: 50})+" [[text One.]]", "")
	m.until(t, 1)
}

// interrupted interrupts an answer and has another one.
func interrupted(t *testing.T, m *meter) {
	m.start("one [[text Half of it]] [[stall]]", "")
	m.run.Until("half of the answer", shows("Half of it"))
	m.run.Press("Escape", func(l agenttest.Look) bool { return l.Detection.Activity != session.Working })
	m.run.Keys("C-u")
	m.say("two " + uses(modelserver.Usage{Input: 13, Output: 90}) + " [[text Two.]]")
	answers := 1
	if m.lab.Agent == "claude" { // the half has its input
		answers = 2
	}
	m.until(t, answers)
}

// TestUsage compares what the agents' files say, rule by rule, with what the model
// counted. With a folder for captures it records the files. Caches and resumed conversations
// are only recorded: those of TestUsageOfManyConversations have both.
func TestUsage(t *testing.T) {
	t.Parallel()
	folder := os.Getenv(usageCaptures)
	for _, r := range usageRules {
		if folder == "" && (r.rule == "cached" || r.rule == "resumed") {
			continue
		}
		t.Run(r.agent+"/"+r.rule, func(t *testing.T) {
			t.Parallel()
			m := newMeter(t, agenttest.New(t, r.agent))
			r.have(t, m)
			if folder != "" && !t.Failed() {
				m.record(t, folder, r.rule)
			}
		})
	}
}

// talk is how an agent that runs begins another conversation and compacts the one that it
// has, where it keeps them, one file each, and the call of its tool that starts a sub-agent.
type talk struct{ files, fresh, compact, helper string }

var talks = map[string]talk{
	"claude": {".claude/projects/*/*.jsonl", "/clear", "/compact",
		`Agent {"description":"d","prompt":"say it","subagent_type":"general-purpose"}`},
	"codex": {".codex/sessions/*/*/*/rollout-*.jsonl", "/clear", "/compact", ""},
	"copilot": {".copilot/session-state/*/events.jsonl", "/clear", "/compact",
		`task {"name":"d","description":"d","prompt":"say it","agent_type":"general-purpose","mode":"sync"}`},
	"gemini": {".gemini/tmp/*/chats/session-*.jsonl", "/clear", "/compress", ""},
	"opencode": {".local/share/opencode/agentform/ses_*.jsonl", "/new", "/compact",
		`task {"description":"d","prompt":"say it","subagent_type":"general"}`},
	"qwen": {".qwen/projects/*/chats/*.jsonl", "/clear", "/compress",
		`agent {"description":"d","prompt":"say it","subagent_type":"general-purpose"}`},
}

// talker has conversations with one agent, which follow from r.
type talker struct {
	*meter
	talk
	r      *rand.Rand
	starts int    // of the agent
	said   string // the end of the last turn
	spent  int    // answers before it
}

// latest finds the conversations that began since, and returns the last one that was
// written to.
func (k *talker) latest(t *testing.T) string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(k.lab.Home, k.files))
	if err != nil {
		t.Fatal(err)
	}
	var newest time.Time
	last := ""
	for _, path := range all {
		if k.paths[path] == "" {
			text, err := os.ReadFile(path)
			if err != nil {
				continue // see modified
			}
			id := session.ReadTranscript(agent.For(k.lab.Spec), bytes.Split(text, []byte("\n"))).Conversation
			if id == "" {
				continue // of a sub-agent, or its first line is not whole
			}
			k.paths[path] = id
		}
		if at := modified(path); at.After(newest) {
			newest, last = at, k.paths[path]
		}
	}
	return last
}

// turn returns a message with its script, and how many tools that calls.
func (k *talker) turn(name string) (text string, tools int) {
	some := func() string {
		u := modelserver.Usage{Input: 5000 + k.r.Int64N(50000), CacheRead: k.r.Int64N(50000), Output: 1 + k.r.Int64N(9000)}
		switch {
		case thinks(k.lab.Agent):
			u.Reasoning = k.r.Int64N(u.Output)
		case k.lab.Agent == "claude":
			u.CacheWrite5m, u.CacheWrite1h = k.r.Int64N(3000), k.r.Int64N(3000)
		default: // they do not tell how long it is kept
			u.CacheWrite5m = k.r.Int64N(3000)
		}
		return uses(u)
	}
	k.said, k.spent = "End of "+name+".", len(k.lab.Model.Spent())
	text = name + " "
	switch kind := k.r.IntN(10); {
	case kind < 3:
		tools = 1
		text += some() + " [[text I look.]] [[tool bash: echo a]] "
	case kind == 3:
		text += "[[status 500 x1]] "
	case kind == 4 && k.helper != "":
		tools = 1
		text += some() + " [[tool " + k.helper + "]] "
	}
	return text + some() + " [[text " + k.said + "]]", tools
}

// compactedAmid is what Qwen Code tells the model in place of the user's message if it has
// compacted the conversation in the middle of a turn.
const compactedAmid = "Continue with the prior task using the context above."

// ended reports whether the model has answered the last message, which calls so many tools,
// to its end.
func (k *talker) ended(message string, tools int) bool {
	return slices.ContainsFunc(k.lab.Model.Spent()[k.spent:], func(s modelserver.Spent) bool {
		return !s.Side && (s.Results == tools && s.Prompt == message || s.Prompt == compactedAmid)
	})
}

// say is that of the meter, and types the message again that opencode has lost, which was still
// clearing its screen. Others have what was typed, however late they show it.
func (k *talker) say(text string) {
	before := len(k.lab.Model.Turns())
	if k.lab.Agent != "opencode" {
		k.run.Type(text, func(agenttest.Look) bool { return len(k.lab.Model.Turns()) > before })
		return
	}
	name, _, _ := strings.Cut(text, " [[")
	for lost := true; lost; {
		patience := time.Now().Add(10 * time.Second)
		k.run.Type(text, func(l agenttest.Look) bool {
			lost = time.Now().After(patience) && !strings.Contains(l.Screen, name) && len(k.lab.Model.Turns()) == before
			return lost || len(k.lab.Model.Turns()) > before
		})
	}
}

// leave ends the agent.
func (k *talker) leave() {
	if k.run != nil {
		k.run.Close()
		k.lab.UntilNone()
	}
}

// rested returns a look at a screen without a sign of work, which comes a little after what
// the files say.
func rested(lab *agenttest.Lab) func(agenttest.Look) bool {
	return func(l agenttest.Look) bool {
		return agent.For(lab.Spec).Detect(session.Evidence{Liveness: session.Alive, Screen: l.Screen}).Activity != session.Working
	}
}

// converse has conversation n, of some turns, with a restart and a compaction here and
// there. Most begin in an agent that runs.
func (k *talker) converse(t *testing.T, n int) {
	turns := 1 + k.r.IntN(3)
	restarted, compacted := n == 0, n == 1 // be there, however few there are
	if n < 2 {
		turns = 3
	}
	for turn := range turns {
		before := k.said
		message, tools := k.turn(fmt.Sprintf("conversation %d, turn %d", n, turn))
		switch {
		case turn > 0 && (restarted || k.r.IntN(8) == 0):
			restarted = false
			id := k.latest(t)
			k.leave()
			k.start(message, id)
			k.starts++
		case turn > 0:
			k.say(message)
		case k.run == nil || k.r.IntN(12) == 0:
			k.leave()
			k.start(message, "")
			k.starts++
		default:
			k.run.Until("it rests", rested(k.lab))
			k.run.Type(k.fresh, func(l agenttest.Look) bool { return !strings.Contains(l.Screen, before) })
			k.say(message)
		}
		k.settle(t, "the answer to "+message, func() bool { return k.ended(message, tools) })
		if turn > 0 && turn+1 < turns && (compacted || k.r.IntN(6) == 0) {
			compacted = false
			compact(k.meter, k.compact)
			k.settle(t, "the summary", func() bool { return true })
		}
	}
}

// TestUsageOfManyConversations has random conversations: new ones in the agent that runs
// and in another, with tools, caches, sub-agents, retries, restarts, resumes and
// compactions. The sums agree to the token after each turn.
func TestUsageOfManyConversations(t *testing.T) {
	t.Parallel()
	number, from := 2, uint64(1) // one with a restart, one with a compaction
	if n, err := strconv.Atoi(os.Getenv(conversations)); err == nil {
		number = n
	}
	if n, err := strconv.ParseUint(os.Getenv(seed), 10, 64); err == nil {
		from = n
	}
	for name, talk := range talks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := &talker{meter: newMeter(t, agenttest.New(t, name)), talk: talk, r: rand.New(rand.NewPCG(from, uint64(len(name))))}
			k.find = func() { k.latest(t) }
			number := number
			end, bounded := t.Deadline()
			for n := range number {
				if bounded && time.Until(end) < spare && n > 1 {
					t.Logf("%d conversations, and no time for more", n)
					number = n
					break
				}
				if k.converse(t, n); t.Failed() {
					t.Fatalf("in conversation %d of seed %d", n, from)
				}
				if number > 10 && n%10 == 9 {
					read, _ := k.update(t)
					t.Logf("%d conversations, %d files, %d starts, %d answers: %+v", n+1, len(k.paths), k.starts, k.answered(), read)
				}
			}
			found := slices.Compact(slices.Sorted(maps.Values(k.paths)))
			if len(found) != number {
				t.Errorf("%d conversations have the ids %q", number, found)
			}
		})
	}
}

// What agentform usage says of a session agrees with the model to the token, after the
// agent was killed and restarted by the hub, in new conversations, and when the session is
// gone.
func TestUsageByAgentform(t *testing.T) {
	t.Parallel()
	for _, name := range agent.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lab := agenttest.New(t, name)
			p := lab.Project("  prompt = \"hello [[text Hi.]]\"\n  restart {\n    backoff {\n      initial = \"1s\"\n    }\n  }")
			agrees := func(when string) {
				t.Helper()
				var d struct {
					Total struct {
						session.Tokens
						Answers int64
					}
				}
				wait.For(t, when+": agentform and the model agree", func() (any, bool) {
					out := p.Do("usage", "--json")
					if err := json.Unmarshal([]byte(out), &d); err != nil {
						t.Fatalf("%v\n%s", err, out)
					}
					counted := countedBy(lab)
					return fmt.Sprintf("agentform says %+v, and the model counted %+v, asked %+v", d.Total, counted, lab.Model.Spent()),
						d.Total.Tokens == counted && counted.Total() > 0
				})
			}
			p.Do("apply", "--auto-approve", "--wait")
			s := p.Until("the turn ends", func(s agenttest.Status) bool { return s.Activity == "idle" && s.Turns == 1 })
			agrees("after the first turn")
			p.Do("serve", "--detach")
			defer p.Run("serve", "--stop")
			if err := syscall.Kill(s.PID, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			p.Until("it is idle again", func(now agenttest.Status) bool { return now.Activity == "idle" && now.PID != s.PID && now.PID != 0 })
			p.Do("send", "api", "more "+uses(modelserver.Usage{Input: 13, CacheRead: 5, Output: 90})+" [[text More.]]")
			p.Do("wait", "api", "--timeout", "4m")
			agrees("after a restart by the hub")
			if fresh := talks[name].fresh; fresh != "" && name != "gemini" { // of which nothing is found
				p.Do("send", "api", "--command", fresh)
				p.Do("send", "api", "new "+uses(modelserver.Usage{Input: 19, Output: 7})+" [[text New.]]")
				p.Until("it is answered", func(agenttest.Status) bool {
					return slices.ContainsFunc(lab.Model.Spent(), func(s modelserver.Spent) bool { return s.Input == 19 })
				})
				agrees("after another conversation at the terminal")
			}
			p.Do("serve", "--stop")
			p.Do("restart", "--fresh", "--wait", "api")
			p.Until("the prompt is answered", func(s agenttest.Status) bool { return s.Activity == "idle" && s.Turns == 1 })
			p.Do("send", "api", "last "+uses(modelserver.Usage{Input: 17, Output: 3})+" [[text Last.]]")
			p.Do("wait", "api", "--timeout", "4m")
			p.Do("destroy", "--auto-approve")
			agrees("when the session is gone")
			lab.UntilNone()
		})
	}
}
