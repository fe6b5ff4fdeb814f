package plaintext_test

import (
	"testing"

	"github.com/agentform/agentform/internal/plaintext"
)

func TestDollars(t *testing.T) {
	for n, want := range map[float64]string{0: "$0.00", 0.001: "<$0.01", 0.005: "$0.01", 1.005: "$1.00", 12.5: "$12.50", 1234567.891: "$1,234,567.89"} {
		if got := plaintext.Dollars(n); got != want {
			t.Errorf("%v: %s, want %s", n, got, want)
		}
	}
}
