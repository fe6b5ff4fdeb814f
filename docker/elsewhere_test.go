//go:build real

package docker_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/agentform/agentform/docker"
	"github.com/agentform/agentform/internal/test/dockertest"
	"github.com/agentform/agentform/internal/test/executable"
	"github.com/agentform/agentform/internal/test/wait"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/session/sessiontest"
)

// far is an engine elsewhere with the image, started by the first test that uses it.
var far = sync.OnceValues(func() (*dockertest.Far, error) {
	name, err := image()
	if err != nil {
		return nil, err
	}
	f, err := dockertest.StartFar()
	if err != nil {
		return nil, err
	}
	if err := os.Setenv("PATH", f.Bin+":"+os.Getenv("PATH")); err != nil {
		return nil, err
	}
	farStarted = f
	return f, f.Load(name)
})

// farStarted is what TestMain ends.
var farStarted *dockertest.Far

// newFarBed is a bed on the engine elsewhere.
func newFarBed(t *testing.T, host func(*dockertest.Far) string) *bed {
	t.Helper()
	f, err := far()
	if err != nil {
		t.Fatal(err)
	}
	b := newBed(t)
	b.engine = f.Host()
	b.config.Host, b.config.CertPath = host(f), f.Certs
	b.config.Exec = []string{b.config.Shim[0], "elsewhere"}
	// As it is when installed.
	self, err := os.ReadFile(b.config.Shim[0])
	if err != nil {
		t.Fatal(err)
	}
	b.config.Shim = []string{filepath.Join(b.config.DataDir, "bin", "shim-1")}
	b.config.Shims = map[string]string{runtime.GOARCH: b.config.Shim[0]}
	if err := os.MkdirAll(filepath.Dir(b.config.Shim[0]), 0o700); err != nil {
		t.Fatal(err)
	}
	executable.Write(t, b.config.Shim[0], self, 0o700)
	b.runtime.Close()
	b.runtime = docker.New(b.config)
	return b
}

func byTLS(f *dockertest.Far) string { return "tcp://" + f.Address }
func bySSH(f *dockertest.Far) string { return f.SSH }

// farLaunch is launch with a workspace on a volume.
func (b *bed) farLaunch(t *testing.T, name string) session.Launch {
	l := b.launch(t, name)
	if err := os.RemoveAll(l.Dir); err != nil {
		t.Fatal(err)
	}
	l.Dir = filepath.Join(session.VolumeRoot, "workspaces", b.called(name), filepath.Base(l.Dir))
	l.Env[0] = "STATE=" + filepath.Join(session.VolumeRoot, "runs", l.Mark.Run)
	if err := b.runtime.RunIn(t.Context(), recordOf(l), nil, &bytes.Buffer{}, "mkdir", "-p", l.Dir); err != nil {
		t.Fatal(err)
	}
	return l
}

func recordOf(l session.Launch) session.Record {
	return session.Record{ID: l.Mark.ID, Address: l.Mark.Address, Spec: l.Spec, Tree: session.WorkspaceState{Path: l.Dir, Branch: "main", Mode: session.Clone}}
}

// inside returns the content of a file in a container, or "" if it does not exist.
func (b *bed) inside(p session.Location, path string) string {
	out, err := dockertest.Docker(nil, "-H", b.engine, "exec", p.Name, "cat", path)
	if err != nil {
		return ""
	}
	return out
}

func TestConformanceElsewhere(t *testing.T) {
	for name, host := range map[string]func(*dockertest.Far) string{"tls": byTLS, "ssh": bySSH} {
		t.Run(name, func(t *testing.T) {
			sessiontest.Suite(t, func(t *testing.T) sessiontest.Harness {
				t.Parallel()
				b := newFarBed(t, host)
				file := func(t *testing.T, p session.Location, name string) string {
					l, ok := b.see(t, p)
					if !ok {
						t.Fatalf("there is no session %q", p.Name)
					}
					return b.inside(p, filepath.Join(session.VolumeRoot, "runs", l.Mark.Run, name))
				}
				send := func(t *testing.T, p session.Location, text string) {
					l, _ := b.see(t, p)
					heard := filepath.Join(session.VolumeRoot, "runs", l.Mark.Run, "heard")
					wait.For(t, p.Name+" reads", func() (any, bool) {
						_, err := dockertest.Docker(nil, "-H", b.engine, "exec", p.Name, "cat", heard)
						return err, err == nil
					})
					if err := b.runtime.Send(t.Context(), p, session.Input{Text: text}); err != nil {
						t.Fatalf("send: %v", err)
					}
				}
				return sessiontest.Harness{
					Runtime: own{b.runtime, b.word},
					Lineage: b.config.Lineage,
					Launch:  func(t *testing.T, name string) session.Launch { return b.farLaunch(t, name) },
					Exit:    func(t *testing.T, p session.Location, code int) { send(t, p, fmt.Sprintf("exit %d", code)) },
					Kill:    func(t *testing.T, p session.Location) { b.kill(t, p) },
					Say: func(t *testing.T, p session.Location, lines ...string) {
						send(t, p, "say "+strings.Join(lines, "\nsay "))
					},
					Heard: func(t *testing.T, p session.Location) []string {
						return strings.Split(strings.TrimSuffix(file(t, p, "heard"), "\n"), "\n")
					},
					Environment: func(t *testing.T, p session.Location, name string) string {
						var value string
						wait.For(t, "the agent has written its environment", func() (any, bool) {
							environ := file(t, p, "environ")
							return environ, slices.ContainsFunc(strings.Split(environ, "\x00"), func(v string) (found bool) {
								value, found = strings.CutPrefix(v, name+"=")
								return found
							}) || file(t, p, "heard") != "" || strings.Contains(environ, "ODD=")
						})
						return value
					},
					Visible: func(t *testing.T, p session.Location) string {
						l, _ := b.see(t, p)
						return b.docker(t, "inspect", p.Name) + b.docker(t, "top", p.Name) +
							b.docker(t, "exec", p.Name, "sh", "-c", "cat /proc/1/environ /proc/1/cmdline") + b.docker(t, "logs", p.Name) +
							file(t, p, "launch.json") + read(filepath.Join(b.config.DataDir, "runs", l.Mark.Run, "launch.json"))
					},
					Foreign: func(t *testing.T, name string) session.Location {
						name = b.called(name)
						id := b.docker(t, "run", "-d", "--network", "none", "--name", name, b.image, "sleep", "1000")
						return session.Location{Runtime: "docker", Name: name, Container: id}
					},
				}
			})
		})
	}
}
