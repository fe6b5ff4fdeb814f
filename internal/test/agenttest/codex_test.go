//go:build agents

package agenttest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentform/agentform/internal/test/agenttest"
	"github.com/agentform/agentform/session"
)

// distrusted is Codex's configuration without the folders that it trusts.
func distrusted(l *agenttest.Lab) {
	file := filepath.Join(l.Home, ".codex", "config.toml")
	text, err := os.ReadFile(file)
	if err != nil {
		panic(err)
	}
	before, _, _ := strings.Cut(string(text), "[projects")
	l.Write(".codex/config.toml", before)
}

// permissions sets what the agent may do unasked.
func permissions(p string) func(*session.StartInput) {
	return func(in *session.StartInput) { in.Spec.Agent.Permissions = p }
}

// limitEnds is a look at a limit of which it is known when it ends.
func limitEnds(l agenttest.Look) bool {
	left := time.Until(l.Detection.Until)
	return left > time.Hour && left < 3*time.Hour
}

var codexSituations = []agenttest.Situation{
	{Name: "booting", Want: session.Booting, Seen: shows("Ask Codex to do anything")},
	{Name: "idle", Want: session.Idle, Seen: shows("· ")},
	{Name: "working", Prompt: "wait [[delay 90s]]", Want: session.Working, Seen: both(shows("esc to interrupt"), told("UserPromptSubmit"))},
	{Name: "queued", Prompt: "wait [[delay 90s]]", Want: session.Working,
		Steps: func(r *agenttest.Run) {
			r.Until("it works", shows("esc to interrupt"))
			r.Type("and then this", shows("Messages to be submitted after next tool call"))
		},
		Seen: shows("Messages to be submitted after next tool call")},
	{Name: "stalled", Prompt: "wait [[text I begin]] [[stall]]", Want: session.Working, Seen: shows("• I begin")},
	{Name: "approval", Prompt: "make it [[tool ask: touch made]]", Input: permissions("ask"), Want: session.Blocked,
		Seen: func(l agenttest.Look) bool {
			return told("PermissionRequest")(l) && strings.Contains(l.Detection.Detail, "$ touch made") && shows("Press enter to confirm")(l)
		}},
	{Name: "trust-dialog", Before: distrusted, Want: session.Blocked, Seen: shows("Trust and continue")},
	{Name: "login-dialog", Bare: true, Want: session.Blocked, Seen: shows("Sign in another way")},
	{Name: "hooks-dialog", Want: session.Blocked, Seen: shows("Trust all and continue"),
		Input: func(in *session.StartInput) {
			in.Spec.Args = []string{"-c", `hooks.SessionEnd=[{hooks=[{type="command",command="true"}]}]`}
		}},
	{Name: "busy", Prompt: "go [[status 429 after 60s]]", Want: session.BlockedAPI, Seen: shows("Server is busy, reconnecting")},
	{Name: "retrying", Prompt: "go [[status 500]]", Want: session.Working, Seen: shows("Reconnecting")},
	{Name: "failed-429", Prompt: "go [[status 429]]", Want: session.BlockedAPI, Seen: shows("■ exceeded retry limit")},
	{Name: "failed-401", Prompt: "go [[status 401]]", Want: session.Failed, Seen: shows("■ unexpected status 401")},
	{Name: "failed-500", Prompt: "go [[status 500]]", Want: session.Failed, Seen: shows("■ We’re currently experiencing high demand")},
	{Name: "limit", Prompt: "go [[limit 2h]]", Want: session.BlockedAPI, Seen: both(shows("usage limit"), limitEnds)},
	{Name: "turn-done", Prompt: "make it [[tool bash: echo hi]] [[text It is made.]]", Input: permissions("all"), Want: session.Idle,
		Seen: both(shows("Worked for"), told("Stop"))},
	{Name: "interrupted", Prompt: "wait [[delay 90s]]", Want: session.Idle,
		Steps: func(r *agenttest.Run) {
			// Sooner, it takes the prompt back as if it had never been.
			r.Until("the model is asked", func(agenttest.Look) bool { return len(r.Lab.Model.Turns()) == 1 })
			r.Until("it works", matches(`\([1-9][\dms ]* • esc to interrupt\)`))
			r.Press("Escape", shows("Conversation interrupted"))
		},
		Seen: both(shows("Conversation interrupted"), told("Interrupt"))},
	{Name: "exited", Prompt: "go [[text It is made.]]", Want: session.Exited,
		Steps: func(r *agenttest.Run) {
			r.Until("the turn has ended", func(l agenttest.Look) bool { return l.Transcript != nil && l.Transcript.Turns == 1 })
			r.Press("C-c", exited) // one that comes before it rests interrupts
		},
		Seen: shows("To continue this session, run:")},
}

func idle(l agenttest.Look) bool { return l.Detection.Activity == session.Idle }

func turns(n int) func(agenttest.Look) bool {
	return func(l agenttest.Look) bool { return idle(l) && l.Transcript != nil && l.Transcript.Turns == n }
}

func exited(l agenttest.Look) bool { return l.Exit != nil }

// Until a prompt was submitted it has no file, and neither idle nor dead follows
// from that.
func TestCodexIsUnobservedBeforeItsFirstPrompt(t *testing.T) {
	t.Parallel()
	lab := agenttest.New(t, "codex")
	run := lab.Start("")
	run.Until("it is ready", func(agenttest.Look) bool { return run.Ready() })
	if files := run.Files(); len(files) > 0 {
		lab.Moved("without a prompt there is no rollout", "%q", files)
	}
	run.Type("go [[text Here.]]", turns(1))
	look := run.Until("a turn", turns(1))
	n := look.Transcript
	if n.Conversation == "" || n.Dir != lab.Dir || n.Prompts != 1 || n.LastPrompt != "go [[text Here.]]" || n.LastMessage != "Here." || n.Tokens == 0 || n.FirstTurnAt.IsZero() {
		lab.Moved("a rollout tells conversation, folder, prompt, answer, tokens and turns", "%+v", *n)
	}
	told := string(look.Signals[0].Data)
	if !strings.Contains(told, `"SessionStart"`) || !strings.Contains(told, n.Conversation) {
		lab.Moved("its first hook is SessionStart and names the conversation", "%s", told)
	}
	kinds := run.Kinds()
	if !slices.Equal(kinds, []string{"info", "user", "agent", "usage"}) {
		lab.Moved("a rollout is told to people as start, prompt, answer and use", "%q", kinds)
	}
}

// However it ends, nothing of it lives on, and its conversation goes on where it
// was: the file is the same, and the prompt is not asked again.
func TestCodexEndsAndGoesOn(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*agenttest.Run){
		"quit":    func(r *agenttest.Run) { r.Type("/quit", exited) },
		"SIGTERM": func(r *agenttest.Run) { r.Signal(syscall.SIGTERM) },
		"SIGKILL": func(r *agenttest.Run) { r.Signal(syscall.SIGKILL) },
		"closed":  func(r *agenttest.Run) { r.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lab := agenttest.New(t, "codex")
			run := lab.Start("first [[text One.]]")
			first := run.Until("a turn", turns(1)).Transcript
			end(run)
			if name != "closed" {
				run.Until("it left", exited)
				run.Close()
			}
			lab.UntilNone()

			run = lab.Start("", func(in *session.StartInput) { in.Conversation = first.Conversation })
			run.Until("it is ready, and what was said is shown", func(l agenttest.Look) bool {
				return run.Ready() && len(run.Files()) == 1 && shows("One.")(l)
			})
			if asked := len(lab.Model.Turns()); asked != 1 {
				lab.Moved("resuming asks the model nothing", "%d requests", asked)
			}
			run.Type("second [[text Two.]]", turns(2))
			second := run.Until("another turn", turns(2)).Transcript
			if second.Conversation != first.Conversation || second.Prompts != 2 {
				lab.Moved("a resumed conversation goes on in its rollout", "%+v, before %+v", *second, *first)
			}
			run.Close()
			lab.UntilNone()
		})
	}
}

// A daemon would live on, with the session in it, and so would one that a person
// has started be taken for it.
func TestCodexUsesNoDaemon(t *testing.T) {
	t.Parallel()
	lab := agenttest.New(t, "codex")
	lab.Program("codex", "app-server", "daemon", "start")
	run := lab.Start("go [[delay 90s]]")
	run.Until("it works, and has its file", func(l agenttest.Look) bool { return shows("esc to interrupt")(l) && len(run.Files()) == 1 })
	file := run.Files()
	// A process that Codex has forked has the file, too, until it executes something else.
	holders := lab.Holding(file[0])
	if len(holders) == 0 || slices.ContainsFunc(holders, func(pid int) bool { return !run.Below(pid) }) {
		lab.Moved("the session is in a process below the terminal", "its file is open in %v of %q", holders, lab.Alive())
	}
}

func TestCodexTakesPromptsAsText(t *testing.T) {
	t.Parallel()
	for i, prompt := range []string{"-v [[text dash]]", "/quit [[text slash]]", "!touch made [[text bang]]", "@nothing [[text at]]", "review", "“ü” 🙂\nline two [[text uni]]"} {
		for _, via := range []string{"argument", "paste"} {
			t.Run(fmt.Sprint(via, i), func(t *testing.T) {
				t.Parallel()
				lab := agenttest.New(t, "codex")
				run := lab.Start(prompt, func(in *session.StartInput) { in.Spec.Agent.PromptVia = via })
				if via == "paste" {
					run.Until("it is ready", func(agenttest.Look) bool { return run.Ready() })
					run.Type(run.Start.Paste, turns(1))
				}
				run.Until("a turn", turns(1))
				asked := lab.Model.Turns()
				if len(asked) != 1 || strings.TrimSpace(asked[0].Prompt()) != prompt {
					lab.Moved("a prompt is text, whatever it begins with", "%d requests, %q", len(asked), asked[0].Prompt())
				}
				if _, err := os.Stat(filepath.Join(lab.Dir, "made")); err == nil {
					lab.Moved("a prompt with ! runs no shell", "it did")
				}
			})
		}
	}
}

// A conversation that is gone ends the start, and says so.
func TestCodexSaysThatAConversationIsGone(t *testing.T) {
	t.Parallel()
	lab := agenttest.New(t, "codex")
	run := lab.Start("", func(in *session.StartInput) { in.Conversation = "01a1fc9c-c0a3-7732-b183-1a90f2698aaa" })
	look := run.Until("it left", exited)
	if look.Exit.Code != 1 || !strings.Contains(look.Screen, "existing sessions.") {
		lab.Moved("a conversation that is gone is status 1 and words that say so, of which the last line stays in sight", "%+v\n%s", *look.Exit, look.Screen)
	}
}

// What it may do unasked.
func TestCodexPermissions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prompt string
		asks   bool
	}{
		"ask":   {"go [[tool ask: touch made]]", true},
		"edits": {"go [[tool ask: touch made]]", true},
		"all":   {"go [[tool bash: touch made]]", false}, // it may not even ask
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lab := agenttest.New(t, "codex")
			run := lab.Start(c.prompt, permissions(name))
			made := filepath.Join(lab.Dir, "made")
			if c.asks {
				look := run.Until("it asks", func(l agenttest.Look) bool { return l.Detection.Activity == session.Blocked })
				if _, err := os.Stat(made); err == nil {
					lab.Moved("it does nothing before it was answered", "%s is there\n%s", made, look.Screen)
				}
				run.Press("y", turns(1))
			}
			run.Until("a turn", turns(1))
			if _, err := os.Stat(made); err != nil {
				lab.Moved("what it may do is done", "%v", err)
			}
		})
	}
}

// A repository's own hooks are not trusted with ours.
func TestCodexTrustsNoHooksOfTheRepository(t *testing.T) {
	t.Parallel()
	lab := agenttest.New(t, "codex")
	hooks := filepath.Join(lab.Dir, ".codex", "hooks.json")
	if err := os.MkdirAll(filepath.Dir(hooks), 0o700); err != nil {
		t.Fatal(err)
	}
	touch := filepath.Join(lab.Home, "hooked")
	if err := os.WriteFile(hooks, []byte(`{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"touch `+touch+`"}]}]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	run := lab.Start("go")
	run.Until("it asks about the repository's hooks", func(l agenttest.Look) bool {
		return l.Detection.Activity == session.Blocked && strings.Contains(l.Detection.Detail, "Hooks need review")
	})
	run.Press("Down", shows("› 2. "))
	run.Press("Down", shows("› 3. Continue without trusting"))
	run.Press("Enter", func(l agenttest.Look) bool { return !shows("Hooks need review")(l) })
	run.Until("a turn", both(turns(1), told("Stop")))
	if _, err := os.Stat(touch); err == nil {
		lab.Moved("hooks that nobody trusted do not run", "the repository's did")
	}
}

// The title says in a word what it does.
func TestCodexTitles(t *testing.T) {
	t.Parallel()
	lab := agenttest.New(t, "codex")
	looked := filepath.Join(lab.Home, "looked")
	run := lab.Start("go [[await "+looked+"]] [[tool ask: true]]", permissions("ask"))
	seen := regexp.MustCompile(`^([⠀-⣿] (Working|Thinking)|\[ [!.] \] Action Required|Ready) \| shop$`)
	for _, want := range []string{"Working", "Action Required", "Ready"} {
		look := run.Until("the title has "+want, func(l agenttest.Look) bool { return strings.Contains(l.Title, want) })
		if !seen.MatchString(look.Title) {
			lab.Moved("the title is what tui.terminal_title asks for", "%q", look.Title)
		}
		switch want {
		case "Working":
			if err := os.WriteFile(looked, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		case "Action Required":
			run.Press("y", func(l agenttest.Look) bool { return !strings.Contains(l.Title, want) })
		}
	}
}
