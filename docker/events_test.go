package docker_test

import (
	"context"
	"testing"
	"time"

	"github.com/agentform/agentform/session"
)

// What happens to a container of the project is told; an exec in one, and what
// happens to others, is not.
func TestEvents(t *testing.T) {
	t.Parallel()
	b, other := newBed(t), newBed(t)
	told := make(chan struct{}, 1000)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- b.runtime.Events(ctx, func() { told <- struct{}{} }) }()
	p := b.create(t, b.launch(t, "told"))
	for {
		// The stream may have begun after that one was started.
		b.docker(t, "pause", p.Name)
		b.docker(t, "unpause", p.Name)
		if len(told) > 0 {
			break
		}
	}
	for quiet := false; !quiet; {
		select {
		case <-told:
		case <-time.After(500 * time.Millisecond):
			quiet = true
		}
	}
	b.docker(t, "exec", p.Name, "sh", "-c", ":")
	q := other.create(t, other.launch(t, "untold"))
	if err := other.runtime.Remove(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	if n := len(told); n != 0 {
		t.Errorf("told %d times of what does not concern it", n)
	}
	if err := b.runtime.Remove(t.Context(), session.Location{Container: p.Container, Name: p.Name}); err != nil {
		t.Fatal(err)
	}
	select {
	case <-told:
	case <-time.After(time.Minute):
		t.Error("the end is not told")
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("after its end: %v", err)
	}
}
