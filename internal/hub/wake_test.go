//go:build real

package hub_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/agentform/agentform/internal/hub"
	"github.com/agentform/agentform/internal/proc"
	"github.com/agentform/agentform/session"
)

// What the wakers notice, each by itself.
func TestWakers(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "state.json")
	sleeper := exec.Command("sleep", "1000")
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	start, ok := proc.StartTime(sleeper.Process.Pid)
	if !ok {
		t.Fatal("the process cannot be seen")
	}
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		waker        hub.Waker
		first, watch hub.Watched // the first wakes as soon as the waker runs
		do           func()
	}{
		"a process ends": {&hub.Processes{},
			hub.Watched{Agents: []session.Process{{PID: ended.Process.Pid, Start: start}}},
			hub.Watched{Agents: []session.Process{{PID: sleeper.Process.Pid, Start: start}}},
			func() { _ = sleeper.Process.Kill(); _ = sleeper.Wait() }},
		"a file is written": {&hub.Files{},
			hub.Watched{Files: []string{filepath.Join(t.TempDir(), "first")}},
			hub.Watched{Files: []string{file}},
			func() {
				if err := os.WriteFile(file+".new", nil, 0o600); err != nil {
					t.Error(err)
				}
				if err := os.Rename(file+".new", file); err != nil {
					t.Error(err)
				}
			}},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			woken := make(chan struct{}, 100)
			ended := make(chan error, 1)
			c.waker.Watch(c.first) // before it runs, as it may come
			go func() { ended <- c.waker.Run(ctx, func() { woken <- struct{}{} }) }()
			<-woken
			c.waker.Watch(c.watch)
			for len(woken) > 0 { // what is new may have changed already
				<-woken
			}
			c.waker.Watch(c.watch)
			if n := len(woken); n > 0 {
				t.Errorf("it woke %d times before anything happened", n)
			}
			c.do()
			<-woken
			c.waker.Watch(hub.Watched{})
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
}

// What was written after the look that found the file, and before it is watched, wakes the
// hub: the exit of a run in a container, whose agent died at once.
func TestFileWrittenBeforeItIsWatched(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	files := &hub.Files{}
	woken, ended := make(chan struct{}, 100), make(chan error, 1)
	go func() { ended <- files.Run(ctx, func() { woken <- struct{}{} }) }()
	// It runs once it wakes for this directory.
	files.Watch(hub.Watched{Files: []string{filepath.Join(t.TempDir(), "first")}})
	<-woken
	exit := filepath.Join(t.TempDir(), "exit")
	if err := os.WriteFile(exit, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	files.Watch(hub.Watched{Files: []string{exit}})
	<-woken
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
