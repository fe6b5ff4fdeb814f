package view

import (
	"strings"
	"testing"
)

// TestLocationsInFull checks that a path to go to is not cut, however long it is.
func TestLocationsInFull(t *testing.T) {
	long := "/home/" + strings.Repeat("deep/", 170)
	if got := shownAt("workspace.path", long); got != `"`+long+`"` {
		t.Errorf("a path: %s", got)
	}
	if got := shownAt("env.TEXT", long); !strings.HasPrefix(got, "(1 line, ") {
		t.Errorf("a text: %s", got)
	}
}
