package docker

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentform/agentform/internal/proc"
	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/internal/shim/rundir"
	"github.com/agentform/agentform/session"
)

// TestAwaitAgent checks where a start reads that the agent runs: for a container on this machine in
// the run's directory, even if the init does not answer; elsewhere in the files that the init sends
// on the first request.
func TestAwaitAgent(t *testing.T) {
	const run = "0123456789abcdef0123456789abcdef"
	for name, elsewhere := range map[string]bool{"here": false, "elsewhere": true} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			s := start{dirs: dirs{runs: root, sockets: root}, launch: session.Launch{Mark: session.Mark{Run: run}, RunDir: filepath.Join(root, run)}}
			written := s.launch.RunDir
			var requests []shim.InitRequest
			if elsewhere {
				written = filepath.Join(t.TempDir(), run)
				s.dirs.dial = func(context.Context, string) (shim.Conn, error) {
					near, far := net.Pipe()
					go func() {
						defer far.Close()
						var q shim.InitRequest
						if err := json.NewDecoder(far).Decode(&q); err != nil {
							t.Error(err)
						}
						requests = append(requests, q)
						files := rundir.ReadFiles(written, 0)
						if err := json.NewEncoder(far).Encode(shim.InitReply{OK: true, Seen: &shim.ContainerRun{Agent: true}, Files: &files}); err != nil {
							t.Error(err)
						}
					}()
					return near, nil
				}
			}
			self := proc.Process{PID: 1, Start: 1}
			if err := errors.Join(os.MkdirAll(s.launch.RunDir, 0o700), os.MkdirAll(written, 0o700),
				rundir.Claim(written, self), rundir.WriteRun(written, self, self, time.Now())); err != nil {
				t.Fatal(err)
			}
			if err := s.awaitAgent(t.Context(), s.dirs.init()); err != nil {
				t.Errorf("the agent runs, and the start says: %v", err)
			}
			if elsewhere && (len(requests) != 1 || requests[0].Screen) {
				t.Errorf("requests to the init: %+v, want one without the screen", requests)
			}
		})
	}
}

// TestAwait checks that a wait calls done continuously, but check only every 200 ms, and that it
// continues after a check that takes longer than that.
func TestAwait(t *testing.T) {
	for took, want := range map[time.Duration]int{0: 4, 300 * time.Millisecond: 3} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			asked, checked := 0, 0
			err := await(ctx, func() (bool, error) { asked++; return false, nil }, func() error {
				checked++
				time.Sleep(took)
				return nil
			})
			if !errors.Is(err, context.DeadlineExceeded) || checked != want || asked < 5*want {
				t.Errorf("checks that take %v: %d in a second, want %d; asked %d times: %v", took, checked, want, asked, err)
			}
		})
	}
}
