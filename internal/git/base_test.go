package git

import (
	"errors"
	"testing"
)

func TestCheckBase(t *testing.T) {
	repo := newRepo(t)
	git(t, repo, "branch", "release-1.2")
	for _, c := range []struct{ branch, base, near string }{
		{"new", "main", ""}, {"new", "mian", "main"}, {"new", "release-12", "release-1.2"}, {"new", "nothing-like-it", ""}, {"main", "mian", ""},
	} {
		err := CheckBase(t.Context(), repo, c.branch, c.base)
		var missing *BaseError
		if bad := c.branch == "new" && c.base != "main"; errors.As(err, &missing) != bad {
			t.Errorf("%s at %s: %v", c.branch, c.base, err)
		} else if bad && missing.Near != c.near {
			t.Errorf("%s: %v, want %q to be near", c.base, err, c.near)
		}
	}
}
