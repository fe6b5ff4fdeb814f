package session

import (
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

var slugForm = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// FuzzParseAddress: what is taken for an address has one canonical form, whose
// parts give it again, and names that are safe outside.
func FuzzParseAddress(f *testing.F) {
	for _, s := range []string{"api", "session.pool[0]", `worker["a.b"]`, `w["\u202e"]`, `w["\x00"]`, "é[007]", "a[99999999999999999999]", `w["a\"]`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, err := ParseAddress(s)
		if err != nil {
			if strings.ContainsFunc(err.Error(), unicode.IsControl) {
				t.Errorf("%q: the error holds control characters: %q", s, err)
			}
			return
		}
		if again, err := ParseAddress(string(a)); err != nil || again != a {
			t.Errorf("%q is %q, which is %q, %v", s, a, again, err)
		}
		if strings.ContainsFunc(string(a), func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("%q holds what cannot be printed", string(a))
		}
		if !a.Within(a) || !a.Within(Single(a.Block())) {
			t.Errorf("%q is not within its own block %q", a, a.Block())
		}
		key, keyed := a.Key()
		switch again := Keyed(a.Block(), key); {
		case !keyed && a != Single(a.Block()):
			t.Errorf("%q has no key and is not %q", a, Single(a.Block()))
		case keyed && strings.HasSuffix(string(a), `"]`) && again != a:
			t.Errorf("the key of %q is %q, which makes %q", a, key, again)
		}
		if !slugForm.MatchString(a.Slug()) || len(a.Slug()) > 41 {
			t.Errorf("the slug of %q is %q", a, a.Slug())
		}
		if name := a.OutsideName(s); !slugForm.MatchString(name) || len(name) > 90 {
			t.Errorf("outside %q is called %q", a, name)
		}
	})
}

// FuzzCheckBranch: a branch that passes can be an argument, a part of a path and a
// part of a line.
func FuzzCheckBranch(f *testing.F) {
	for _, s := range []string{"main", "agents/api", "-d", "a..b", "a/.b", "a.lock/b", "x\x1b[31m", "@{-1}", "é", "a\u202eb"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		err := CheckBranch(s)
		switch {
		case err != nil && strings.ContainsFunc(err.Error(), unicode.IsControl):
			t.Errorf("%q: the error holds control characters: %q", s, err)
		case err != nil:
		case s == "" || s[0] == '-' || s[0] == '/' || strings.Contains(s, "..") || strings.ContainsAny(s, " \x00\n\t\x1b\x7f"):
			t.Errorf("%q passes", s)
		case !slugForm.MatchString(Slug(s)) || !utf8.ValidString(Slug(s)):
			t.Errorf("the slug of %q is %q", s, Slug(s))
		}
	})
}
