package apply_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/apply"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/internal/input"
	"github.com/agentform/agentform/internal/launch"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/session/sessiontest"
	"github.com/agentform/agentform/state"
)

func TestCreate(t *testing.T) {
	r := newFixture(t)
	s := r.spec("api")
	s.Prompt = session.PromptOf("write tests")
	s.Env, s.Agent.Env = map[string]string{"LOG": "debug"}, map[string]string{"LOG": "info", "MODEL": "m"}
	tally := r.must(r.create(s))
	rec := r.record("api")
	if !regexp.MustCompile(`^api-[0-9a-f]{8}$`).MatchString(rec.ID) || !regexp.MustCompile(`^[0-9a-f]{16}$`).MatchString(rec.Run.ID) {
		t.Errorf("id %q, run %q", rec.ID, rec.Run.ID)
	}
	if rec.Intent != session.Settled || rec.LastError != "" || rec.Origin != session.FromManifest || rec.Run.Number != 1 ||
		rec.Run.Agent.PID == 0 || rec.Run.BootID == "" || rec.Run.DeliveredAt.IsZero() || rec.Run.PromptSHA != s.Prompt.Digest {
		t.Errorf("record %+v", rec)
	}
	want := session.WorkspaceState{Path: s.Workspace.Path, Mode: session.Worktree, Repo: "/repo", Branch: s.Branch, Created: true, Made: true, Ready: true}
	if diff := cmp.Diff(want, rec.Tree); diff != "" {
		t.Errorf("workspace: %s", diff)
	}
	st, _ := r.rt.State(r.place("api"))
	l := st.Launch
	if l.Mark != (session.Mark{Project: lineage, Address: s.Address, ID: rec.ID, Run: rec.Run.ID, Hash: s.Hash()}) {
		t.Errorf("mark %+v", l.Mark)
	}
	if diff := cmp.Diff([]string{"robot", "write tests"}, l.Argv); diff != "" {
		t.Errorf("argv: %s", diff)
	}
	if l.Dir != s.Workspace.Path || !slices.Contains(l.Env, "LOG=debug") || !slices.Contains(l.Env, "MODEL=m") || slices.Contains(l.Env, "LOG=info") {
		t.Errorf("in %s with %v", l.Dir, l.Env)
	}
	if info, err := os.Stat(l.RunDir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the run's folder: %v, %v", info, err)
	}
	if res := tally.Results[0]; !res.Started || res.Record.ID != rec.ID {
		t.Errorf("result %+v", res)
	}
	kinds := []history.Kind{}
	logged, err := history.Read(state.Folder(r.dir, rec), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range logged {
		kinds = append(kinds, e.Kind)
		if e.ID != rec.ID || e.By != "ada" {
			t.Errorf("event %+v", e)
		}
	}
	if diff := cmp.Diff([]history.Kind{history.ApplyStart, history.Launched, history.IOAttached, history.Ready, history.PromptDelivered, history.ApplyComplete}, kinds); diff != "" {
		t.Errorf("history: %s", diff)
	}
}

// TestCredential checks that a run is recorded with what its agent is known by to its provider:
// a key by its digest.
func TestCredential(t *testing.T) {
	r := newFixture(t)
	s := r.spec("api")
	s.Agent.Base, s.Agent.Env = agent.Opencode, map[string]string{"OPENAI_API_KEY": "sk-1"}
	r.must(r.create(s))
	got := r.record("api").Run.Credential
	want := agent.Credential(s, agent.CredentialFacts{Salt: lineage, Env: []string{"OPENAI_API_KEY=sk-1"}})
	if got != want || got.ID == "" {
		t.Errorf("recorded %+v, want %+v", got, want)
	}
}

func TestCreateThenPause(t *testing.T) {
	r := newFixture(t)
	p := r.create(r.spec("api"))
	p.Changes[0].Then = plan.Pause
	r.must(p)
	if st, _ := r.rt.State(r.place("api")); !st.Live.InputOff {
		t.Error("it is not paused")
	}
}

// TestARunStartsBeforeItsAgent records a start that nothing of the agent precedes: its
// first turn can have ended before the runtime returns.
func TestARunStartsBeforeItsAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFixture(t)
		r.rt.Faults.Slow(sessiontest.OpCreate, 2*time.Second)
		began := time.Now()
		r.must(r.create(r.spec("api")))
		if late := r.record("api").Run.StartedAt.Sub(began); late >= 2*time.Second {
			t.Errorf("started %s after the command", late)
		}
	})
}

func TestPromptIsTypedWhenTheAgentIsReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFixture(t)
		s := r.spec("api")
		s.Agent.PromptVia, s.Agent.Ready, s.Prompt = "paste", ">", session.PromptOf("go")
		r.rt.Script(r.place("api"), sessiontest.Step{Screen: "loading"}, sessiontest.Step{After: 3 * time.Second, Screen: "loading\n>"})
		r.must(r.create(s))
		st, _ := r.rt.State(r.place("api"))
		if diff := cmp.Diff([]session.Input{{Text: "go"}}, st.Sent); diff != "" {
			t.Error(diff)
		}
		rec := r.record("api")
		if d := rec.Run.DeliveredAt.Sub(rec.Run.StartedAt); rec.Intent != session.Settled || d < 3*time.Second || d > 4*time.Second {
			t.Errorf("delivered after %s: %+v", d, rec)
		}
		r.event(history.PromptDelivered, "api")
	})
}

func TestPromptThatCannotBeTypedIsTypedByTheNextApply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFixture(t)
		s := r.spec("api")
		s.Agent.PromptVia, s.Agent.Ready, s.Prompt = "paste", ">", session.PromptOf("go")
		s.Agent.ReadyTimeout = session.Duration(5 * time.Second)
		r.rt.Script(r.place("api"), sessiontest.Step{Screen: "Do you trust this folder?"}, sessiontest.Step{After: time.Minute, Screen: ">"})
		_, err := r.run(r.create(s))
		var notReady *launch.NotReadyError
		if !errors.As(err, &notReady) || !strings.Contains(err.Error(), "after 5s") || !strings.Contains(err.Error(), "trust this folder") {
			t.Fatalf("error: %v", err)
		}
		rec := r.record("api")
		if want := `not ready after 5s: it asks a question first (agentform attach api shows it, agentform send api --key KEY answers it)`; rec.LastError != want {
			t.Errorf("last error %q, want %q", rec.LastError, want)
		}
		if rec.Intent != session.Creating || rec.Location.Name == "" || !rec.Run.DeliveredAt.IsZero() {
			t.Fatalf("record %+v", rec)
		}
		time.Sleep(time.Minute)
		s.Prompt.Text = "" // as it comes from the record: only the digest
		r.must(r.one(plan.Update, s))
		if st, _ := r.rt.State(r.place("api")); len(st.Sent) != 1 || st.Sent[0].Text != "go" || st.Launches != 1 {
			t.Errorf("sent %v in %d launches", st.Sent, st.Launches)
		}
		if rec := r.record("api"); rec.Intent != session.Settled || rec.LastError != "" {
			t.Errorf("record %+v", rec)
		}
	})
}

// idleScreen returns the recorded screen of a built-in agent that waits for input.
func idleScreen(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "agent", "testdata", name, "idle-80", "screen.txt"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// builtinFixture is a fixture in which the session api has a built-in agent.
func builtinFixture(t *testing.T, name string) (*fixture, session.Spec) {
	r := newFixture(t)
	r.applier.Agent = agent.For
	r.applier.BaseEnv = append(r.applier.BaseEnv, "HOME="+r.dir)
	s := r.spec("api")
	s.Agent = agent.Builtins()[name]
	s.Agent.Command = []string{"robot"}
	return r, s
}

// TestPromptThatMayBeInTheInputIsTypedOnce types a prompt, and one that changed, into an
// agent that shows nothing of either.
func TestPromptThatMayBeInTheInputIsTypedOnce(t *testing.T) {
	idle := idleScreen(t, "claude")
	synctest.Test(t, func(t *testing.T) {
		r, s := builtinFixture(t, "claude")
		s.Agent.PromptVia, s.Prompt, s.OnPromptChange = "paste", session.PromptOf("go"), session.PromptIsSent
		r.rt.Script(r.place("api"), sessiontest.Step{Screen: idle})
		typed := func(text string) (n int) {
			st, _ := r.rt.State(r.place("api"))
			for _, in := range st.Sent {
				if in.Text == text {
					n++
				}
			}
			return n
		}
		_, err := r.run(r.create(s))
		var nothing *input.NotTakenError
		if !errors.As(err, &nothing) || nothing.Draft {
			t.Fatalf("error: %v", err)
		}
		if rec := r.record("api"); rec.Intent != session.Settled || rec.LastError == "" || rec.Run.DeliveredAt.IsZero() {
			t.Errorf("record %+v", rec)
		}
		r.must(r.one(plan.Update, s))
		if n := typed("go"); n != 1 {
			t.Errorf("typed %d times", n)
		}
		s.Prompt = session.PromptOf("go on")
		sends := r.one(plan.Update, s)
		sends.Changes[0].Sends = true
		if _, err := r.run(sends); !errors.As(err, &nothing) {
			t.Fatalf("error: %v", err)
		}
		sends = r.one(plan.Update, s)
		sends.Changes[0].Sends = true
		r.must(sends)
		if n := typed("go on"); n != 1 {
			t.Errorf("the changed prompt was typed %d times", n)
		}
		// An apply was killed after it had typed the prompt, and the agent has it.
		rec := r.record("api")
		rec.Intent, rec.Run.DeliveredAt = session.Creating, time.Time{}
		if err := r.store.Put(rec); err != nil {
			t.Fatal(err)
		}
		writeClaudePrompt(t, r.dir, s.Workspace.Path, rec.Run.Conversation, "go on")
		r.must(r.one(plan.Update, s))
		if n := typed("go on"); n != 1 || r.record("api").Run.DeliveredAt.IsZero() {
			t.Errorf("the prompt of a killed apply was typed %d times", n)
		}
	})
}

// TestPromptThatWasJustTyped waits for an agent whose file shows late what an apply has typed
// that was killed, and types it again if it does not come.
func TestPromptThatWasJustTyped(t *testing.T) {
	idle := idleScreen(t, "claude")
	for comes, wanted := range map[bool]int{true: 0, false: 1} {
		synctest.Test(t, func(t *testing.T) {
			r, s := builtinFixture(t, "claude")
			r.rt.Script(r.place("api"), sessiontest.Step{Screen: idle})
			r.must(r.create(s))
			rec := r.record("api")
			s.Agent.PromptVia, s.Prompt = "paste", session.PromptOf("go")
			rec.Intent, rec.Spec.Agent, rec.Spec.Prompt = session.Creating, s.Agent, s.Prompt
			if err := r.store.Put(rec); err != nil {
				t.Fatal(err)
			}
			if err := activity.New(r.dir, r.dir, agent.For).Sending(rec, "go", true, time.Now()); err != nil {
				t.Fatal(err)
			}
			file := rec.Run.Conversation
			if comes {
				go func() {
					time.Sleep(5 * time.Second)
					writeClaudePrompt(t, r.dir, s.Workspace.Path, file, "go")
				}()
			}
			var unconfirmed *input.NotTakenError // the script shows nothing of what is typed
			if _, err := r.run(r.one(plan.Update, s)); err != nil && !errors.As(err, &unconfirmed) {
				t.Error(err)
			}
			typed := 0
			st, _ := r.rt.State(r.place("api"))
			for _, in := range st.Sent {
				if in.Text == "go" {
					typed++
				}
			}
			if typed != wanted || r.record("api").Run.DeliveredAt.IsZero() {
				t.Errorf("the agent has it %v: typed %d times, want %d", comes, typed, wanted)
			}
		})
	}
}

// TestPromptOnTheScreen completes what an apply has typed that was killed, into an agent without
// files: its screen says what is left to do.
func TestPromptOnTheScreen(t *testing.T) {
	for screen, want := range map[string]string{
		"ready>":                    "PROMPT-11",
		"ready> PROMPT-11":          "Enter",
		"ready> PROMPT-11\nworking": "",
	} {
		synctest.Test(t, func(t *testing.T) {
			r, s := builtinFixture(t, "claude")
			s.Agent = session.AgentSpec{Name: "sh", Command: []string{"sh"}, Ready: "ready>", PromptVia: "none"}
			r.rt.Script(r.place("api"), sessiontest.Step{Screen: "ready>"})
			r.must(r.create(s))
			rec := r.record("api")
			s.Agent.PromptVia, s.Prompt = "paste", session.PromptOf("PROMPT-11")
			rec.Intent, rec.Spec.Agent, rec.Spec.Prompt, rec.Run.ReadyAt = session.Creating, s.Agent, s.Prompt, time.Time{}
			if err := r.store.Put(rec); err != nil {
				t.Fatal(err)
			}
			if err := activity.New(r.dir, r.dir, agent.For).Sending(rec, "PROMPT-11", true, time.Now()); err != nil {
				t.Fatal(err)
			}
			r.rt.Edit(r.place("api"), func(st *sessiontest.State) { st.Live.Screen = screen })
			r.must(r.one(plan.Update, s))
			got := ""
			st, _ := r.rt.State(r.place("api"))
			for _, in := range st.Sent {
				got += in.Text + in.Key
			}
			if got != want || r.record("api").Run.DeliveredAt.IsZero() {
				t.Errorf("on %q: typed %q, want %q; delivered at %s", screen, got, want, r.record("api").Run.DeliveredAt)
			}
		})
	}
}

// writeClaudePrompt writes a session file of Claude Code with one message of the user.
func writeClaudePrompt(t *testing.T, home, workspace, conversation, prompt string) {
	folder := filepath.Join(home, ".claude", "projects", regexp.MustCompile(`[^A-Za-z0-9]`).ReplaceAllString(workspace, "-"))
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Error(err)
	}
	line := fmt.Sprintf(`{"type":"user","timestamp":%q,"sessionId":%q,"message":{"role":"user","content":%q}}`+"\n", time.Now().Format(time.RFC3339Nano), conversation, prompt)
	if err := os.WriteFile(filepath.Join(folder, conversation+".jsonl"), []byte(line), 0o600); err != nil {
		t.Error(err)
	}
}

// TestPromptOfAnInterruptedStart kills each built-in agent's apply after the agent has
// started, before it is recorded that the agent has its prompt: the next apply gives it
// exactly once.
func TestPromptOfAnInterruptedStart(t *testing.T) {
	for name := range agent.Builtins() {
		for _, conversation := range []session.Conversation{{}, {Resume: true, ID: "c0ffee00-0000-4000-a000-000000000000"}} {
			t.Run(fmt.Sprintf("%s/resumed=%t", name, conversation.Resume), func(t *testing.T) {
				idle := idleScreen(t, name)
				synctest.Test(t, func(t *testing.T) {
					r, s := builtinFixture(t, name)
					s.Conversation, s.Prompt, s.Agent.ReadyTimeout = conversation, session.PromptOf("say hi"), session.Duration(5*time.Second)
					r.rt.Script(r.place("api"), sessiontest.Step{Screen: "loading"}, sessiontest.Step{After: time.Minute, Screen: idle})
					var notReady *launch.NotReadyError
					if _, err := r.run(r.create(s)); err != nil && !errors.As(err, &notReady) {
						t.Fatal(err)
					}
					rec := r.record("api")
					rec.Intent, rec.Run.DeliveredAt = session.Creating, time.Time{}
					if err := r.store.Put(rec); err != nil {
						t.Fatal(err)
					}
					time.Sleep(time.Minute)
					var unconfirmed *input.NotTakenError // the script shows nothing of what is typed
					if _, err := r.run(r.one(plan.Update, s)); err != nil && !errors.As(err, &unconfirmed) {
						t.Error(err)
					}
					st, _ := r.rt.State(r.place("api"))
					given := 0
					for _, arg := range st.Launch.Argv {
						given += strings.Count(arg, "say hi")
					}
					for _, in := range st.Sent {
						given += strings.Count(in.Text, "say hi")
					}
					if rec := r.record("api"); given != 1 || st.Launches != 1 || rec.Run.DeliveredAt.IsZero() {
						t.Errorf("given %d times in %d launches: argv %q, sent %v, delivered %v", given, st.Launches, st.Launch.Argv, st.Sent, rec.Run.DeliveredAt)
					}
				})
			})
		}
	}
}

func TestAgentThatLeavesBeforeItIsReady(t *testing.T) {
	r := newFixture(t)
	s := r.spec("api")
	s.Agent.PromptVia, s.Agent.Ready, s.Prompt = "paste", ">", session.PromptOf("go")
	r.rt.Script(r.place("api"), sessiontest.Step{Screen: "no account", Exit: &session.Exit{Code: 7}})
	_, err := r.run(r.create(s))
	if err == nil || !strings.Contains(err.Error(), "exit status 7") || !strings.Contains(err.Error(), "no account") {
		t.Errorf("error: %v", err)
	}
}

// TestAgentThatLeavesABlankScreen tells what an agent showed before the screen was blank.
func TestAgentThatLeavesABlankScreen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFixture(t)
		s := r.spec("api")
		s.Agent.PromptVia, s.Agent.Ready, s.Prompt = "paste", ">", session.PromptOf("go")
		r.rt.Script(r.place("api"), sessiontest.Step{Screen: "no account"}, sessiontest.Step{After: 3 * time.Second, Screen: "\n", Exit: &session.Exit{Code: 7}})
		if _, err := r.run(r.create(s)); err == nil || !strings.Contains(err.Error(), "no account") {
			t.Errorf("error: %v", err)
		}
	})
}

func TestSetupRunsOnce(t *testing.T) {
	r := newFixture(t)
	s := r.spec("api")
	s.Workspace.Setup = []string{"sh", "-c", "echo making; test -e ../allowed && echo $HOME >> made"}
	_, err := r.run(r.create(s))
	var setup *apply.SetupError
	if !errors.As(err, &setup) || setup.Output != "making\n" {
		t.Fatalf("error: %v", err)
	}
	rec := r.record("api")
	if !strings.HasPrefix(rec.LastError, "setup: sh -c") || rec.Intent != session.Creating || rec.Tree.Ready || len(r.rt.Places()) != 0 {
		t.Fatalf("record %+v, places %v", rec, r.rt.Places())
	}
	if e := r.event(history.ApplyErrored, "api"); e.Excerpt != "making\n" {
		t.Errorf("excerpt %q", e.Excerpt)
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(s.Workspace.Path), "allowed"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	r.must(r.create(s))
	if again := r.record("api"); again.ID != rec.ID || again.Run.ID == rec.Run.ID || !again.Tree.Ready || !again.Tree.Created || !again.Tree.Made {
		t.Errorf("record %+v, was %+v", again, rec)
	}
	r.must(r.one(plan.Restart, s))
	if made, _ := os.ReadFile(filepath.Join(s.Workspace.Path, "made")); string(made) != "/home/somebody\n" {
		t.Errorf("setup left %q", made)
	}
}

func TestSetupEndsWithTheApply(t *testing.T) {
	r := newFixture(t)
	s := r.spec("api")
	s.Workspace.Setup = []string{"sh", "-c", "sleep 600 & echo $! > ../pid; wait"}
	pidFile := filepath.Join(filepath.Dir(s.Workspace.Path), "pid")
	ctx, cancel := withCancel(t)
	go func() {
		defer cancel()
		for {
			if b, _ := os.ReadFile(pidFile); strings.HasSuffix(string(b), "\n") {
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
	if _, err := r.applier.Run(ctx, r.create(s), nil); !errors.Is(err, apply.ErrInterrupted) {
		t.Errorf("error: %v", err)
	}
	b, _ := os.ReadFile(pidFile)
	if alive(strings.TrimSpace(string(b))) {
		t.Error("what the setup command started lives on")
	}
}

// TestSetupIsNotDoubled: of an apply that was killed, the setup command may go
// on. The next apply ends it before it begins anew.
func TestSetupIsNotDoubled(t *testing.T) {
	r := newFixture(t)
	s := r.spec("api")
	// The first time it stays, with a child that has left its process group.
	s.Workspace.Setup = []string{"sh", "-c", "test -e ../second && exit; setsid sleep 600 & echo $! > ../pid; false"}
	if _, err := r.run(r.create(s)); err == nil {
		t.Fatal("the first setup succeeded")
	}
	up := filepath.Dir(s.Workspace.Path)
	b, err := os.ReadFile(filepath.Join(up, "pid"))
	if err != nil || !alive(strings.TrimSpace(string(b))) {
		t.Fatalf("what the first setup left does not live: %s, %v", b, err)
	}
	if err := os.WriteFile(filepath.Join(up, "second"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	r.must(r.create(s))
	if alive(strings.TrimSpace(string(b))) {
		t.Error("the first setup goes on beside the second")
	}
}

// TestSetupLeavesAServer: what a setup command leaves running keeps nobody
// waiting, and lives on.
func TestSetupLeavesAServer(t *testing.T) {
	r := newFixture(t)
	s := r.spec("api")
	s.Workspace.Setup = []string{"sh", "-c", "sleep 600 & echo $! > ../pid"}
	r.must(r.create(s)) // fails after a minute if it waits for the server
	b, _ := os.ReadFile(filepath.Join(filepath.Dir(s.Workspace.Path), "pid"))
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || !alive(strings.TrimSpace(string(b))) {
		t.Fatalf("the server %q does not live: %v", b, err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Error(err)
	}
}
