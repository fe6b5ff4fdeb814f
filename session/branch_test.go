package session

import (
	"strings"
	"testing"
)

func TestCheckBranch(t *testing.T) {
	for _, name := range []string{
		"main", "agent/api", "a.b", "a./b", "a/-b", "a@b", "@", "@/a", "head", "refs/heads/x",
		"ünï/côdé", "日本", "a.locked", "lock", "x{y}", "a\"b", "a'b", "a$b;c|d&e", "\xff", strings.Repeat("x", 300),
	} {
		if err := CheckBranch(name); err != nil {
			t.Errorf("CheckBranch(%q) = %v, want nil", name, err)
		}
	}
	for name, rule := range map[string]string{
		"": "empty", "-a": "dash", "-": "dash", "HEAD": "HEAD", "a.": "ends with a dot", ".": "ends with a dot",
		"a..b": `".."`, "@{-1}": `"@{"`, "a@{u}": `"@{"`,
		"a\x00b": "control", "a\nb": "control", "a\x7f": "control", "a b": "space",
		"a~1": "~", "a^": "^", "a:b": ":", "a?": "?", "a*": "*", "a[0]": "[", `a\b`: `\`,
		"/a": "slash", "a/": "slash", "a//b": "slash", "/": "slash",
		".a": "starts with a dot", "a/.b": "starts with a dot",
		"a.lock": ".lock", "a.lock/b": ".lock",
	} {
		err := CheckBranch(name)
		if err == nil || !strings.Contains(err.Error(), rule) || !strings.HasPrefix(err.Error(), "invalid branch name") {
			t.Errorf("CheckBranch(%q) = %v, want an error that says %q", name, err, rule)
		}
	}
	if err := CheckBranch(strings.Repeat("ü~", 1<<20)); err == nil || len(err.Error()) > 1024 || !strings.Contains(err.Error(), "…") {
		t.Error("an error shows all of a name of 3 MB")
	}
}
