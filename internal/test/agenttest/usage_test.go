//go:build agents

package agenttest_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/internal/test/agenttest"
	"github.com/agentform/agentform/internal/test/modelserver"
	"github.com/agentform/agentform/internal/usage"
	"github.com/agentform/agentform/session"
)

// usageCaptures is the environment variable with the folder that the session files of
// TestUsage are recorded in: internal/usage/testdata. Empty: none are.
const usageCaptures = "AGENTFORM_USAGE_CAPTURES"

// conversations is the environment variable with the number of conversations that
// TestUsageOfManyConversations has with each agent.
const conversations = "AGENTFORM_CONVERSATIONS"

// meter reads the usage of one session of a lab, and compares it with what the model
// counted.
type meter struct {
	lab   *agenttest.Lab
	run   *agenttest.Run
	store *usage.Store
	data  string
	since time.Time
	paths map[string]string // conversations, by the paths of their files
}

func newMeter(t *testing.T, lab *agenttest.Lab) *meter {
	data := t.TempDir()
	return &meter{lab: lab, data: data, since: time.Now(), store: usage.New(data, unpriced), paths: map[string]string{}}
}

func unpriced(string, session.Tokens, int64) (float64, bool) { return 0, false }

// work are the settings of a run that asks nothing.
func work(in *session.StartInput) { in.Spec.Agent.Permissions, in.Sandbox = "all", true }

// start starts the agent with a prompt, in a conversation of before if that is not "".
func (m *meter) start(prompt, conversation string, changes ...func(*session.StartInput)) {
	changes = append([]func(*session.StartInput){work, func(in *session.StartInput) { in.Conversation = conversation }}, changes...)
	if conversation != "" { // what is typed while it loads the conversation is lost: the prompt comes with it
		m.run = m.lab.Start(prompt, changes...)
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
	if n := m.run.Transcript(); n != nil && n.Conversation != "" && len(files) > 0 {
		m.paths[files[0]] = n.Conversation
	}
	of := usage.Subject{ID: "api", Address: "session.api", Agent: m.lab.Agent, Run: "run", Since: m.since}
	a := agent.For(m.lab.Spec)
	for path, conversation := range m.paths {
		if err := m.store.Update(a, of, path, conversation, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	x, err := m.store.Get("api")
	if err != nil {
		t.Fatal(err)
	}
	return x.Total().Tokens, countedBy(m.lab)
}

// countedBy returns what the model counted of the answers that the agent's session files
// tell of. Titles and the like are in no file; nor are the summaries of Gemini CLI.
func countedBy(lab *agenttest.Lab) session.Tokens {
	var all modelserver.Usage
	for _, s := range lab.Model.Spent() {
		if !s.Side || lab.Agent == "codex" && strings.Contains(s.Prompt, "CONTEXT CHECKPOINT COMPACTION") {
			all = all.Plus(s.Usage)
		}
	}
	return session.Tokens{Input: all.Input, CacheRead: all.CacheRead, CacheWrite: all.CacheWrite5m, CacheWrite1h: all.CacheWrite1h,
		Output: all.Output, Reasoning: all.Reasoning}
}

// until waits until the model has answered so often and the agent is idle, and checks
// that both counts agree then.
func (m *meter) until(t *testing.T, answers int) {
	t.Helper()
	m.run.Until(fmt.Sprintf("%d answers, and all of them in its files", answers), func(l agenttest.Look) bool {
		n := 0
		for _, s := range m.lab.Model.Spent() {
			if !s.Side {
				n++
			}
		}
		if n < answers || l.Detection.Activity == session.Working {
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
		before := len(m.lab.Model.Requests())
		m.run.Type("/compact", func(agenttest.Look) bool { return len(m.lab.Model.Requests()) > before })
		m.run.Until("the conversation is compacted", func(l agenttest.Look) bool {
			return strings.Contains(string(joined(m.run.Lines())), `"type":"compacted"`) && l.Detection.Activity != session.Working
		})
		m.say("two " + uses(modelserver.Usage{Input: 13, Output: 90}) + " [[text Two.]]")
		m.until(t, 2)
	}},
	{"gemini", "cached", cached},
	{"gemini", "resumed", goesOn},
	{"gemini", "retried", retried},
}

func joined(lines [][]byte) []byte {
	var all []byte
	for _, l := range lines {
		all = append(append(all, l...), '\n')
	}
	return all
}

func cached(t *testing.T, m *meter) {
	m.start("go "+uses(modelserver.Usage{Input: 11, CacheRead: 200, Output: 50, Reasoning: 20})+" [[text I look.]] [[tool bash: echo a]] "+
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
// counted. With a folder for captures it records the files.
func TestUsage(t *testing.T) {
	folder := os.Getenv(usageCaptures)
	for _, r := range usageRules {
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

// TestUsageOfManyConversations has conversations with restarts, tools, caches and retries:
// the sums agree to the token after each.
func TestUsageOfManyConversations(t *testing.T) {
	number := 2
	if n, err := strconv.Atoi(os.Getenv(conversations)); err == nil {
		number = n
	}
	for _, name := range agent.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMeter(t, agenttest.New(t, name))
			answers := 0
			for n := range number {
				u := modelserver.Usage{Input: int64(7 + n), CacheRead: int64(13 * n), Output: int64(100 + n)}
				if name == "claude" {
					u.CacheWrite5m, u.CacheWrite1h = int64(3*n), int64(n)
				} else {
					u.Reasoning = int64(n)
				}
				m.start(fmt.Sprintf("conversation %d %s [[text I look.]] [[tool bash: echo a]] [[text Done.]]", n, uses(u)), "")
				answers += 2
				m.until(t, answers)
				id := m.run.Transcript().Conversation
				m.run.Close()
				m.lab.UntilNone()
				m.start(fmt.Sprintf("on with %d [[status 500 x1]] %s [[text On.]]", n, uses(u)), id)
				answers++
				m.until(t, answers)
				m.run.Close()
				m.lab.UntilNone()
			}
		})
	}
}

// What agentform usage says of a session agrees with the model to the token, after the
// agent was killed and restarted by the hub, in a new conversation, and when the session
// is gone.
func TestUsageByAgentform(t *testing.T) {
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
				for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
					out := p.Do("usage", "--json")
					if err := json.Unmarshal([]byte(out), &d); err != nil {
						t.Fatalf("%v\n%s", err, out)
					}
					counted := countedBy(lab)
					if d.Total.Tokens == counted && counted.Total() > 0 {
						return
					}
					if time.Now().After(end) {
						t.Fatalf("%s: agentform says %+v, and the model counted %+v", when, d.Total, counted)
					}
				}
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
			p.Do("wait", "api", "--timeout", "90s")
			agrees("after a restart by the hub")
			p.Do("serve", "--stop")
			p.Do("restart", "--fresh", "--wait", "api")
			p.Until("the prompt is answered", func(s agenttest.Status) bool { return s.Activity == "idle" && s.Turns == 1 })
			p.Do("send", "api", "last "+uses(modelserver.Usage{Input: 17, Output: 3})+" [[text Last.]]")
			p.Do("wait", "api", "--timeout", "90s")
			p.Do("destroy", "--auto-approve")
			agrees("when the session is gone")
			lab.UntilNone()
		})
	}
}
