package kubernetes

import (
	"context"
	"strings"
	"testing"

	"github.com/agentform/agentform/session"
)

// TestScreenNotRead checks that a session whose pod reports that it is alive stays so if its screen was not
// read in time, because too many others were.
func TestScreenNotRead(t *testing.T) {
	r := New(Config{DataDir: t.TempDir()})
	for range cap(r.slots) {
		r.slots <- struct{}{}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for before, want := range map[session.Liveness]session.Liveness{session.Alive: session.Alive, session.Unknown: session.Unknown, session.Dead: session.Dead} {
		l := session.Live{Liveness: before}
		target{runtime: r, pod: "shop-api-0", record: record{Program: "/agentform/bin/shim"}}.inspect(ctx, &l, &pod{}, true)
		if l.Liveness != want || strings.Contains(l.UnknownReason, errNotAsked.Error()) != (want == session.Unknown) {
			t.Errorf("%s: %s, %q", before, l.Liveness, l.UnknownReason)
		}
	}
}
