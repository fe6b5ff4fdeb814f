package hub_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/environ"
	"github.com/agentform/agentform/internal/forge"
	"github.com/agentform/agentform/internal/hub"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/session/sessiontest"
)

// standIn answers as gh does, from a file for each kind of question; nothing where there is none.
const standIn = `#!/bin/sh
for last; do :; done
empty='[]'
case $last in
*/logs) cat "$ANSWERS/log"; exit ;;
*/check-runs*) file=checks; empty='{"check_runs":[]}' ;;
*/comments*) file=comments ;;
*/reviews*) file=reviews ;;
*) file=pulls ;;
esac
printf 'HTTP/2.0 200 OK\nContent-Type: application/json\r\n\r\n'
cat "$ANSWERS/$file" 2>/dev/null || echo "$empty"
`

// TestPullRequest checks that the hub gives an agent a failed check of its pull request once, also
// after it was restarted, and that a session whose pull request was merged is finished.
func TestPullRequest(t *testing.T) {
	in(t, func(r *room) {
		path, commit := r.repo()
		r.branch[path] = "agents/api"
		gh := filepath.Join(r.dir, "tools")
		answers := func(file, text string) {
			t.Helper()
			if err := os.WriteFile(filepath.Join(gh, file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		head := func() string {
			c := exec.Command("git", "rev-parse", "HEAD")
			c.Dir = path
			out, err := c.CombinedOutput()
			if err != nil {
				t.Fatal(err)
			}
			return strings.TrimSpace(string(out))
		}
		pull := func(more string) {
			answers("pulls", fmt.Sprintf(`[{"number":12,"html_url":"https://github.com/shop/api/pull/12","head":{"sha":%q},"base":{"ref":"main"},%s}]`, head(), more))
		}
		if err := os.Mkdir(gh, 0o700); err != nil {
			t.Fatal(err)
		}
		answers("gh", standIn)
		if err := os.Chmod(filepath.Join(gh, "gh"), 0o700); err != nil {
			t.Fatal(err)
		}
		remote := exec.Command("git", "remote", "add", "origin", "git@github.com:shop/api.git")
		remote.Dir = path
		if err := remote.Run(); err != nil {
			t.Fatal(err)
		}
		with := func(c *hub.Config) {
			c.Forge = forge.NewTool(environ.Vars{"PATH=" + gh + ":" + os.Getenv("PATH"), "ANSWERS=" + gh}, r.now)
		}
		s := r.spec("api", finishes, func(s *session.Spec) {
			s.Finish, s.Branch = session.FinishLanded, "agents/api"
			s.Workspace = session.Workspace{Mode: session.InPlace, Path: path, Repo: path, OnDestroy: session.Keep}
			s.PR = session.PR{Checks: session.PRSends, Reviews: session.PRSends, Rounds: 3, From: []string{"OWNER"}}
		})
		r.rt.Script(place("api"), sessiontest.Step{Screen: "busy"}, sessiontest.Step{After: 25 * time.Second, Screen: "Done.\n>"})
		r.apply(s)
		pull(`"state":"open"`)
		answers("checks", `{"check_runs":[{"id":1,"name":"test","status":"completed","conclusion":"failure","completed_at":"2000-01-01T00:00:00Z","details_url":"https://github.com/shop/api/actions/runs/7/job/1"}]}`)
		answers("log", "--- FAIL: TestTotal\n")
		sent := func() (texts []string) {
			st, _ := r.rt.State(place("api"))
			for _, in := range st.Sent {
				if in.Text != "" {
					texts = append(texts, in.Text)
				}
			}
			return texts
		}
		_, stop := r.hub(with)
		for i := 0; i < 300 && len(sent()) == 0; i++ {
			time.Sleep(time.Second)
		}
		if all := sent(); len(all) == 0 || !strings.Contains(all[0], "\n> --- FAIL: TestTotal\n") {
			t.Fatalf("it was sent %q", all)
		}
		r.rt.Edit(place("api"), func(st *sessiontest.State) { st.Live.Screen, st.Live.MovedAt = "busy", time.Now() })
		time.Sleep(10 * time.Second) // until it is seen that the agent has it
		stop()
		p := r.record("api").PR
		if p == nil || p.Round != 1 || p.SentAt.IsZero() || p.State != session.PROpen || p.Checks != session.ChecksFailed || len(p.Given) != 1 {
			t.Errorf("%+v", p)
		}
		_, stop = r.hub(with)
		defer stop()
		time.Sleep(5 * time.Minute)
		commit()
		pull(`"state":"open"`)
		answers("checks", `{"check_runs":[{"id":2,"name":"test","status":"completed","conclusion":"success"}]}`)
		r.rt.Edit(place("api"), func(st *sessiontest.State) { st.Live.Screen, st.Live.MovedAt = "Fixed.\n>", time.Now() })
		time.Sleep(15 * time.Minute)
		if p := r.record("api").PR; p == nil || p.Held() || p.Round != 0 || p.Checks != session.ChecksPassed || len(sent()) != 1 {
			t.Errorf("%+v, sent %q", p, sent())
		}
		pull(fmt.Sprintf(`"state":"closed","merged_at":%q,"closed_at":%[1]q,"merge_commit_sha":"beef"`, time.Now().Format(time.RFC3339)))
		time.Sleep(15 * time.Minute)
		rec := r.record("api")
		if l := rec.Landed; l == nil || l.Into != "main" || l.Commit != "beef" || l.From != head() {
			t.Errorf("%+v", l)
		}
		if rec.Finished == nil || r.alive("api") {
			t.Errorf("it is not finished: %+v", rec.Finished)
		}
		want := []string{"pr_feedback https://github.com/shop/api/pull/12", "landed pull_request", "finished landed"}
		if d := cmp.Diff(want, r.events("api", history.PRFeedback, history.Landed, history.Escalated, history.Finished)); d != "" {
			t.Error(d)
		}
	})
}
