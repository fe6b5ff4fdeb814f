package tmux

import (
	"path/filepath"
	"strings"
	"testing"
	"unicode"
)

// FuzzID checks that a valid id has the absolute path of a socket and a name that tmux does not
// read as anything else.
func FuzzID(f *testing.F) {
	for _, s := range []string{"tmux:default/api", "tmux:/tmp/x/../y/api", "tmux:../x/api", "tmux:default/$1", "tmux:a/b/c", "tmux:/", "tmux:default/=x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, id string) {
		socket, name, err := parseID(id)
		switch {
		case err != nil:
			if strings.ContainsFunc(err.Error(), unicode.IsControl) {
				t.Errorf("%q: the error holds control characters: %q", id, err)
			}
		case !filepath.IsAbs(socket) || filepath.Clean(socket) != socket:
			t.Errorf("%q has the socket %q", id, socket)
		case name == "" || strings.ContainsAny(name, ".:/\n") || strings.ContainsRune("$@%=", rune(name[0])):
			t.Errorf("%q has the session %q", id, name)
		}
	})
}

// FuzzPanes checks that a list has each session once, and that text without the nonce adds
// no row.
func FuzzPanes(f *testing.F) {
	row := "n|a-1|%0|0|||0|0|0|80|24|1|%0||{}|/w|title\n"
	f.Add(row)
	f.Add(row + row)
	f.Add(strings.Replace(row, "title", "x\nm|b-2|%1|0|||0|0|0|80|24|1|%1||{}|/w|y", 1))
	f.Add("n|too|few\n")
	f.Fuzz(func(t *testing.T, text string) {
		const nonce = "n"
		all, err := parsePanes(text, nonce)
		if err != nil {
			return
		}
		if rows := strings.Count("\n"+text, "\n"+nonce+"|"); len(all) > rows {
			t.Errorf("%d sessions of %d rows", len(all), rows)
		}
		seen := map[string]bool{}
		for _, p := range all {
			if seen[p.Session] {
				t.Errorf("%q is there twice", p.Session)
			}
			seen[p.Session] = true
			o := &observer{}
			if m, foreign := o.markOf(p); !foreign && m.Project == "" && m.Run == "" {
				t.Errorf("the mark %q is taken for ours", p.Mark)
			}
		}
	})
}
