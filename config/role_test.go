package config

import (
	"strings"
	"testing"
)

func TestIsRole(t *testing.T) {
	for role, want := range map[string]bool{
		"builder": true, "ü1": true, "_x": true, "a.b-c": true, "7": true, strings.Repeat("é", 64): true,
		"": false, ".a": false, "-a": false, "a b": false, "a/b": false, "a\x00": false, "a\xff": false, strings.Repeat("é", 65): false,
	} {
		if got := isRole(role); got != want {
			t.Errorf("isRole(%q) = %v, want %v", role, got, want)
		}
	}
}
