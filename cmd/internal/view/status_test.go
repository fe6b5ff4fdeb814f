package view

import (
	"testing"
	"time"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/session"
)

func TestGlanceOfAPullRequest(t *testing.T) {
	x := api.Session{Changes: &api.Changes{Ahead: 2, Behind: 1}, Pull: &api.PullRequest{Number: 12, State: session.PROpen, Checks: session.ChecksFailed, Reviews: 1, Round: 1, Rounds: 3}}
	if got, want := GlanceOf(x, time.Now()).Changes, "↑2, 1 behind, pull request open, checks failed, 1 review, sent 1/3"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	x.Pull.Number = 0
	if got := GlanceOf(x, time.Now()).Changes; got != "↑2, 1 behind" {
		t.Errorf("without one: %q", got)
	}
}

func TestLacks(t *testing.T) {
	landed := &session.Landed{}
	for name, c := range map[string]struct {
		api.Session
		want string
	}{
		"behind":                   {api.Session{Changes: &api.Changes{Behind: 4, Ahead: 1}}, "4"},
		"not counted":              {api.Session{}, "-"},
		"landed":                   {api.Session{Changes: &api.Changes{Behind: 4}, Landed: landed}, "-"},
		"landed, and works on":     {api.Session{Changes: &api.Changes{Behind: 4, Ahead: 1}, Landed: landed}, "4"},
		"up to date with its base": {api.Session{Changes: &api.Changes{}}, "0"},
	} {
		if got := number(lacks(c.Session)); got != c.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}
