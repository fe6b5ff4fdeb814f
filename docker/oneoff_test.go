//go:build real

package docker_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentform/agentform/docker"
	"github.com/agentform/agentform/internal/proc"
	"github.com/agentform/agentform/internal/test/wait"
	"github.com/agentform/agentform/session"
)

var _ session.Container = (*docker.Runtime)(nil)

// nothingLeft checks that no container of a one-off command is left.
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

// TestAbandonedCommands checks that a runtime that can start sessions removes unused containers of
// commands, and no others.
func TestAbandonedCommands(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.config.Owner = session.Owner{Host: "here", Machine: "1", BootID: "boot"}
	b.runtime.Close()
	b.runtime = docker.New(b.config)
	self, ok := proc.ReadStat(os.Getpid())
	if !ok {
		t.Fatal("this process is not found")
	}
	alive := fmt.Sprintf(`{"pid":%d,"start":%d}`, self.PID, self.Start)
	dead := fmt.Sprintf(`{"pid":%d,"start":%d}`, self.PID, self.Start+1) // its pid was reused
	const gone, stays, named = "gone", "stays", "stays, and is named"
	for name, c := range map[string]struct{ maker, project, want string }{
		"dead":               {`{"host":"here","machine":"1","boot_id":"boot","process":` + dead + `}`, b.config.Lineage, gone},
		"rebooted":           {`{"host":"here","machine":"1","boot_id":"before","process":` + alive + `}`, b.config.Lineage, gone},
		"alive":              {`{"host":"here","machine":"1","boot_id":"boot","process":` + alive + `}`, b.config.Lineage, stays},
		"of-another-project": {`{"host":"here","machine":"1","boot_id":"boot","process":` + dead + `}`, "another", stays},
		"of-another-host":    {`{"host":"there","machine":"2","boot_id":"other","process":` + dead + `}`, b.config.Lineage, named},
		"in-a-container":     {`{"host":"here","machine":"1","boot_id":"boot","pid_namespace":"7","process":` + dead + `}`, b.config.Lineage, named},
		"of-another-user":    {`{"host":"here","machine":"1","boot_id":"boot","uid":77777,"process":` + dead + `}`, b.config.Lineage, named},
		"unknown":            {``, b.config.Lineage, named},
	} {
		b.docker(t, "create", "--name", b.called(name), "--network", "none", "--label", "agentform.once=1", "--label", "agentform.project="+c.project,
			"--label", "agentform.maker="+c.maker, b.image, "true")
		t.Run(name, func(t *testing.T) {
			reader := b.config
			reader.Shim = nil
			for _, c := range []docker.Config{reader, b.config} {
				r := docker.New(c)
				defer r.Close()
				if _, err := r.Observe(t.Context(), false); err != nil {
					t.Fatal(err)
				}
				if left := b.docker(t, "ps", "-aq", "--filter", "name=^"+b.called(name)+"$"); len(c.Shim) == 0 && left == "" {
					t.Error("removed by a runtime that only reads")
				}
			}
			got := stays
			if b.docker(t, "ps", "-aq", "--filter", "name=^"+b.called(name)+"$") == "" {
				got = gone
			}
			all, err := b.runtime.Leftovers(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if i := slices.IndexFunc(all, func(l session.Leftover) bool { return l.Name == b.called(name) }); i >= 0 {
				got += ", and is named"
				if text := all[i].String(); !strings.HasSuffix(text, "; if not: docker rm -f "+b.called(name)) || !strings.Contains(text, map[bool]string{true: "unknown", false: "host " + all[i].Host}[c.maker == ""]) {
					t.Errorf("named as %q", text)
				}
			}
			if got != c.want {
				t.Errorf("it %s; want: %s", got, c.want)
			}
		})
	}
}

// TestCommandWithoutAnEngine checks that a container that could not be removed, as the engine was
// gone, is removed later.
func TestCommandWithoutAnEngine(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	w := newWay(t, filepath.Join(b.root, "engine"))
	b.config.Host = "unix://" + w.path
	b.config.Owner = session.Owner{Host: "here", Machine: "1", BootID: "boot"}
	b.runtime.Close()
	b.runtime = docker.New(b.config)
	l := b.launch(t, "cut")
	failed := make(chan error, 1)
	go func() {
		_, err := b.runtime.Run(t.Context(), l.Spec, l.Dir, []string{"sleep", "1000"}, nil)
		failed <- err
	}()
	running := func() string {
		return b.docker(t, "ps", "-q", "--filter", "label=agentform.once", "--filter", "label=agentform.project="+b.config.Lineage)
	}
	wait.For(t, "the command runs", func() (any, bool) { return "nothing", running() != "" })
	if _, err := b.runtime.Observe(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	if running() == "" {
		t.Fatal("a command that this process runs was removed")
	}
	w.cut()
	if err := <-failed; err == nil {
		t.Error("the engine was gone, and the command is said to have ended")
	}
	w.open(t)
	if running() == "" {
		t.Fatal("nothing was left: this test tests nothing")
	}
	if _, err := b.runtime.Observe(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	b.nothingLeft(t)
}
