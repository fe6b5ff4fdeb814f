package fleet_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/fleet"
)

// TestOldSnapshotsKeepTheirEvents checks that the events of a look stay what they are when later ones
// are read and the oldest are dropped: whoever has the look may still read it.
func TestOldSnapshotsKeepTheirEvents(t *testing.T) {
	dir := t.TempDir()
	at := time.Date(2026, 3, 14, 9, 0, 0, 0, time.UTC)
	past, n := fleet.PastOf(dir, 4), 0
	add := func() {
		t.Helper()
		n++
		if err := history.Append(dir, history.Event{Time: at.Add(time.Duration(n) * time.Second), Kind: history.Sent, Detail: fmt.Sprint(n)}); err != nil {
			t.Fatal(err)
		}
		if _, err := past.Read(); err != nil {
			t.Fatal(err)
		}
	}
	var looks, copies [][]history.Event
	for range 12 {
		add()
		looks, copies = append(looks, past.Events), append(copies, slices.Clone(past.Events))
	}
	for i := range looks {
		if fmt.Sprint(looks[i]) != fmt.Sprint(copies[i]) {
			t.Errorf("the events of look %d were %v, and are %v", i+1, copies[i], looks[i])
		}
	}
	if got := len(past.Events); got != 4 {
		t.Errorf("%d events are kept", got)
	}
}
