package plaintext_test

import (
	"testing"
	"time"

	"github.com/agentform/agentform/internal/plaintext"
)

func TestElapsed(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-1: "0ms", 99 * time.Millisecond: "99ms", 100 * time.Millisecond: "0.1s", 1234 * time.Millisecond: "1.2s", 9949 * time.Millisecond: "9.9s", 9950 * time.Millisecond: "10s", 12300 * time.Millisecond: "12s",
		59900 * time.Millisecond: "1m0s", 125 * time.Second: "2m5s", 63 * time.Minute: "1h3m",
	} {
		if got := plaintext.Elapsed(d); got != want {
			t.Errorf("Elapsed(%v) = %s, want %s", d, got, want)
		}
	}
}
