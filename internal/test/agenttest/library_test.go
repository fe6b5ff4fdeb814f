//go:build agents

package agenttest_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/agentform/agentform"
	"github.com/agentform/agentform/internal/test/agenttest"
	"github.com/agentform/agentform/internal/test/wait"
	"github.com/agentform/agentform/session"
)

// The real agents by the Go library: launched, followed, answered, stopped. What
// their files and hooks tell reaches a program as it reaches the command line.
func TestByTheLibrary(t *testing.T) {
	for _, name := range []string{"claude", "codex", "gemini"} {
		t.Run(name, func(t *testing.T) {
			lab := agenttest.New(t, name)
			root := filepath.Dir(lab.Home)
			t.Setenv("XDG_RUNTIME_DIR", filepath.Join(root, "run"))
			if err := os.Mkdir(filepath.Join(root, "run"), 0o700); err != nil {
				t.Fatal(err)
			}
			var env []string
			for k, v := range lab.Env {
				env = append(env, k+"="+v)
			}
			sessions, err := agentform.Open(filepath.Join(root, "sessions"), agentform.Options{
				Shim: []string{filepath.Join(os.Getenv(agenttest.Programs), "agentform-shim")}, Env: env,
			})
			if err != nil {
				t.Fatal(err)
			}
			defer sessions.Close()
			spec := session.Spec{
				Agent:     session.AgentSpec{Name: name, Base: name, Command: lab.Spec.Command, Trust: true},
				Workspace: session.Workspace{Path: lab.Dir},
				Prompt:    session.PromptOf("write it [[text I look.]] [[tool ask: echo hi > made]] [[text See https://github.com/a/b/pull/7 for it.]]"),
			}
			err = sessions.With(t.Context(), "api", spec, func(ctx context.Context, s *agentform.Session) error {
				var urls []string
				var last agentform.Observation
				until := func(what string, so func(agentform.Observation) bool) {
					t.Helper()
					tell := agentform.Callbacks{PRDetected: func(url string) { urls = append(urls, url) }}
					wait.For(t, what, func() (any, bool) {
						if last, err = s.Monitor(ctx, tell); err != nil {
							t.Fatalf("until %s: %v; last %s: %s\n%s", what, err, last.Status, last.Detail, last.Snippet)
						}
						return fmt.Sprintf("%s: %s\n%s", last.Status, last.Detail, last.Snippet), so(last)
					})
				}
				// A hook tells the question before the dialog is drawn, which takes the key.
				until("its dialog is drawn", func(o agentform.Observation) bool { return o.Status == session.StatusBlocked && o.Question != nil })
				if last.Detail == "" {
					t.Error("the question is not told")
				}
				rests := func(o agentform.Observation) bool { return o.Activity == session.Idle }
				var pressed time.Time
				until("its turn has ended", func(o agentform.Observation) bool {
					// It may show the question a little before it listens to the answer.
					if o.Status == session.StatusBlocked && time.Since(pressed) > 5*time.Second {
						if err := s.SendInput(ctx, session.Input{Key: "Enter"}); err != nil {
							t.Fatal(err)
						}
						pressed = time.Now()
					}
					return rests(o)
				})
				if _, err := os.Stat(filepath.Join(lab.Dir, "made")); err != nil {
					t.Error(err)
				}
				until("the pull request is seen", func(agentform.Observation) bool { return len(urls) > 0 })
				if err := s.Send(ctx, "again [[text Well.]]"); err != nil {
					return err
				}
				until("its second turn has ended", func(o agentform.Observation) bool { return rests(o) && len(lab.Model.Turns()) >= 3 })
				if !slices.Equal(urls, []string{"https://github.com/a/b/pull/7"}) {
					t.Errorf("pull requests %q", urls)
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
			lab.UntilNone()
		})
	}
}
