package view

import "testing"

func TestPathsAreShownFromTheReadersFolder(t *testing.T) {
	s := Style{Dir: "/src/shop"}
	for in, want := range map[string]string{
		"/src/shop/a":                             "a",
		"workspace /src/shop/w is on \"main\"":    "workspace w is on \"main\"",
		`"/src/shop/w" (worktree)`:                `"w" (worktree)`,
		"git -C /src/shop/w switch /src/shop/x/y": "git -C w switch x/y",
		"/mnt/src/shop/w":                         "/mnt/src/shop/w",
		"/src/shopping/w":                         "/src/shopping/w",
		"in /src/shop":                            "in /src/shop",
		"/src/shop//src/shop/w":                   "/src/shop/w",
	} {
		if got := s.Near(in); got != want {
			t.Errorf("near(%q) = %q, want %q", in, got, want)
		}
	}
	if got := (Style{}).Near("/src/shop/a"); got != "/src/shop/a" {
		t.Errorf("without a folder: %q", got)
	}
}
