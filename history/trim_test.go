package history

import (
	"testing"
	"time"
)

func TestTrim(t *testing.T) {
	folder := t.TempDir()
	day := func(n int) time.Time { return time.Date(2026, 11, n, 12, 0, 0, 0, time.UTC) }
	for n := 1; n <= 5; n++ {
		if err := Append(folder, Event{Time: day(n), Address: "session.a", Kind: Launched}); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct{ before, taken, left int }{{1, 0, 5}, {4, 3, 2}, {4, 0, 2}, {9, 2, 0}, {9, 0, 0}} {
		taken, err := Trim(folder, day(tt.before))
		if err != nil || taken != tt.taken {
			t.Errorf("Trim before day %d took %d, %v, want %d", tt.before, taken, err, tt.taken)
		}
		events, err := Read(folder, time.Time{})
		if err != nil || len(events) != tt.left {
			t.Errorf("after Trim before day %d: %d events, %v, want %d", tt.before, len(events), err, tt.left)
		}
	}
	if taken, err := Trim(t.TempDir(), day(9)); taken != 0 || err != nil {
		t.Errorf("a folder without a history: %d, %v", taken, err)
	}
}
