//go:build real

package docker_test

import (
	"context"
	"testing"

	"github.com/agentform/agentform/internal/test/wait"
	"github.com/agentform/agentform/session"
)

// TestEvents checks that changes of the project's containers are reported, but neither an exec in
// one nor changes of other containers.
func TestEvents(t *testing.T) {
	t.Parallel()
	b, other := newBed(t), newBed(t)
	told := make(chan struct{}, 1000)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- b.runtime.Events(ctx, func() { told <- struct{}{} }) }()
	tells := func(what string) {
		t.Helper()
		wait.Receive(t, what, told)
	}
	created := 0
	wait.For(t, "the stream begins", func() (any, bool) {
		if len(told) > 0 {
			return nil, true
		}
		name := b.called("gone")
		b.docker(t, "create", "--name", name, "--network", "none", "--label", "agentform.project="+b.config.Lineage, b.image, "true")
		b.docker(t, "rm", name) // causes one event
		created++
		return created, false
	})
	<-told
	p := b.create(t, b.launch(t, "told"))
	tells("its start")
	b.docker(t, "pause", p.Name)
	tells("a pause")
	b.docker(t, "unpause", p.Name)
	tells("the end of a pause")
	for range created { // of the first containers, one event may come late
		b.docker(t, "exec", p.Name, "sh", "-c", ":")
	}
	q := other.create(t, other.launch(t, "untold"))
	if err := other.runtime.Remove(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	if n := len(told); n >= created {
		t.Errorf("told %d times of what does not concern it", n)
	}
	if err := b.runtime.Remove(t.Context(), session.Location{Container: p.Container, Name: p.Name}); err != nil {
		t.Fatal(err)
	}
	tells("the end")
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("after its end: %v", err)
	}
}
