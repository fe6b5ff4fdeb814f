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

func TestBytes(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "1.0 kB", 1234: "1.2 kB", 999_949: "999.9 kB", 999_950: "1.0 MB", 3_400_000_000: "3.4 GB"} {
		if got := plaintext.Bytes(n); got != want {
			t.Errorf("Bytes(%d) = %s, want %s", n, got, want)
		}
	}
}
