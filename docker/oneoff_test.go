package docker_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentform/agentform/docker"
	"github.com/agentform/agentform/session"
)

var _ session.Container = (*docker.Runtime)(nil)

// nothingLeft is that no container of a single command is left.
func (b *bed) nothingLeft(t *testing.T) {
	t.Helper()
	if left := b.docker(t, "ps", "-aq", "--filter", "label=agentform.project="+b.config.Lineage); left != "" {
		t.Errorf("containers are left: %s", left)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	for what, c := range map[string]struct {
		change func(*session.Spec)
		argv   []string
		want   string // in the error; empty: there is none
	}{
		"all is there":      {func(*session.Spec) {}, []string{"cat", "x"}, ""},
		"no such image":     {func(s *session.Spec) { s.Runtime.Docker.Image = "agentform-test:none" }, []string{"cat"}, "no image agentform-test:none"},
		"no such command":   {func(*session.Spec) {}, []string{"no-such-agent"}, "has no no-such-agent"},
		"no such mount":     {func(s *session.Spec) { s.Runtime.Docker.Mounts = []session.Mount{{Source: "/no/such", Target: "/x"}} }, []string{"cat"}, "/no/such"},
		"PATH of its own":   {func(s *session.Spec) { s.Env = map[string]string{"PATH": "/nowhere"} }, []string{"cat"}, "has no"},
		"user of no number": {func(s *session.Spec) { s.Runtime.Docker.User = "me" }, []string{"cat"}, "is not a number"},
	} {
		l := b.launch(t, "check")
		c.change(&l.Spec)
		err := b.runtime.Check(t.Context(), l.Spec, c.argv)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", what, err, c.want)
		}
	}
	b.nothingLeft(t)
}

func TestRun(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	l := b.launch(t, "run")
	run := func(script string, env ...string) (string, error) {
		return b.runtime.Run(t.Context(), l.Spec, l.Dir, []string{"sh", "-c", script}, env)
	}
	if out, err := run(`echo "$PWD $IMAGE $OWN"; touch made; sleep 1; echo err >&2`, "OWN=x y"); err != nil || out != l.Dir+" yes x y\nerr\n" {
		t.Errorf("%q, %v", out, err)
	}
	if _, err := os.Stat(filepath.Join(l.Dir, "made")); err != nil {
		t.Error(err)
	}
	if out, err := run("echo no; exit 3"); err == nil || !strings.Contains(err.Error(), "exit status 3") || out != "no\n" {
		t.Errorf("%q, %v; want exit status 3", out, err)
	}
	if out, err := run("head -c 300000 /dev/zero; echo; echo end"); err != nil || len(out) > session.TailLimit || !strings.HasSuffix(out, "\nend\n") {
		t.Errorf("%d bytes, %v; want the end of it", len(out), err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if _, err := b.runtime.Run(ctx, l.Spec, l.Dir, []string{"sleep", "100"}, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, want the end of its time", err)
	}
	b.nothingLeft(t)
}
