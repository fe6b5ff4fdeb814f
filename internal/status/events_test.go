package status

import (
	"strings"
	"testing"
)

// TestShortHash checks which texts are cut: ids, and no words.
func TestShortHash(t *testing.T) {
	for s, want := range map[string]string{
		strings.Repeat("0a", 32): "0a0a0a0a0a0a", strings.Repeat("0a", 20): "0a0a0a0", strings.Repeat("0a", 19): strings.Repeat("0a", 19),
		strings.Repeat("main", 10): strings.Repeat("main", 10), "": "",
	} {
		if got := ShortHash(s); got != want {
			t.Errorf("%s: %s", s, got)
		}
	}
}
