package tmux

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func read(text string) []reply {
	var out []reply
	var r replies
	for s := range strings.SplitSeq(text, "\n") {
		if got, whole := r.line(s); whole {
			out = append(out, got)
		}
	}
	return out
}

func TestReplies(t *testing.T) {
	got := read(strings.Join([]string{
		"%begin 1 10 0", "%end 1 10 0", // a command of the client's own arguments
		"%sessions-changed",
		"%begin 1 11 1", "one", "%end 1 12 1", "%error 2 11 1", "", "two", "%end 1 11 1",
		"%output %1 %begin 1 2 1",
		"%begin 1 12 1", "can't find session: x", "%error 1 12 1",
		"%begin nonsense",
		"%end 1 99 1",
		"%begin 1 13 1", "cut off",
	}, "\n"))
	want := []reply{
		{},
		{text: "one\n%end 1 12 1\n%error 2 11 1\n\ntwo", ours: true},
		{text: "can't find session: x", failed: true, ours: true},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

func TestReplyIsBounded(t *testing.T) {
	var r replies
	r.line("%begin 1 1 1")
	for range 3 * replyLimit / 1000 {
		r.line(strings.Repeat("x", 999))
	}
	got, whole := r.line("%end 1 1 1")
	if !whole || len(got.text) > replyLimit {
		t.Errorf("whole %v, %d bytes, want at most %d", whole, len(got.text), replyLimit)
	}
}

// FuzzControl puts anything around and into replies: what tmux answered must
// come out as it was, whatever the text of an answer looks like.
func FuzzControl(f *testing.F) {
	f.Add("%sessions-changed", "%1", "%exit")
	f.Add("%begin 1 2 1", "%end 7 8 1\n%begin 7 9 1", "%error 7 8 0")
	f.Add("", "", "")
	f.Fuzz(func(t *testing.T, before, text, after string) {
		all := read(before + "\n" + text + "\n" + after)
		for _, r := range all {
			if r.failed && strings.Contains(r.text, "\x00never\x00") {
				t.Fatal("an answer out of nothing")
			}
		}
		const guard = "1700000000 4711 1"
		if strings.Contains(text, guard) || strings.Contains(before, "%begin ") || strings.HasPrefix(after, "%") {
			return // the same guard again is what tmux never prints
		}
		got := read(fmt.Sprintf("%s\n%%begin %s\n%s\n%%end %s\n%s", before, guard, text, guard, after))
		if len(got) == 0 || got[0].text != text || got[0].failed || !got[0].ours {
			t.Fatalf("got %+v, want %q", got, text)
		}
	})
}

// FuzzFields takes apart what was put together as tmux does with #{q:…}.
func FuzzFields(f *testing.F) {
	f.Add("a|b", `\`, "é")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		var rows []string
		for _, s := range []string{a, b, c} {
			var q strings.Builder
			for i := range len(s) {
				if strings.IndexByte("|&;<>()$`\\\"'*?[# =%", s[i]) >= 0 {
					q.WriteByte('\\')
				}
				q.WriteByte(s[i])
			}
			rows = append(rows, q.String())
		}
		if got := fields(strings.Join(rows, "|")); !slices.Equal(got, []string{a, b, c}) {
			t.Fatalf("got %q, want %q", got, []string{a, b, c})
		}
	})
}

func TestSessionsOf(t *testing.T) {
	got := sessionsOf([]pane{
		{session: "_agentform-12-ab", id: "%0"},
		{session: "a", id: "%5", ours: "%3"}, {session: "a", id: "%3", ours: "%3"},
		{session: "b", id: "%7", ours: "%4"},
		{session: "c", id: "%8"}, {session: "c", id: "%9"},
	})
	want := []pane{
		{session: "a", id: "%3", ours: "%3"},
		{session: "b", id: "%7", ours: "%4", closed: true},
		{session: "c", id: "%8"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

func TestParsePanes(t *testing.T) {
	row := func(title string) string {
		return "N|" + strings.Join([]string{"a", "%1", "0", "", "", "1", "0", "2", "200", "50", "1700000000", "%1", "", `\{\}`, "/", title}, "|")
	}
	for text, want := range map[string]int{"": 0, row("x") + "\n": 1, row(`x`+"\nM\\|y\nN") + "\n": 1} {
		if got, err := parsePanes(text, "N"); err != nil || len(got) != want {
			t.Errorf("%q: %d sessions, %v; want %d", text, len(got), err, want)
		}
	}
	got, err := parsePanes(row("x\nN|y"), "N")
	if err == nil {
		t.Errorf("a row that is cut short is %+v, want an error", got)
	}
}

func TestTyped(t *testing.T) {
	if got, want := typed("a\r\nb\rc\td\x1b[201~\x03é\u009b\x7f"), "a\nb\nc\td[201~é"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestKeyNames(t *testing.T) {
	for key, ok := range map[string]bool{
		"Enter": true, "Escape": true, "C-c": true, "C-M-x": true, "Up": true, "F12": true, "y": true, "BSpace": true,
		"": false, "Foo": false, "exit 1": false, "F13": false, "C-": false, "Enter\n": false,
	} {
		if got := keyForm.MatchString(key); got != ok {
			t.Errorf("%q: %v, want %v", key, got, ok)
		}
	}
}

func TestEnvironmentIsAllowed(t *testing.T) {
	got := environment([]string{"PATH=/bin", "LC_ALL=C", "TMUX=/x,1,0", "SECRET=1", "AGENTFORM_RUN=1", "TERM=xterm", "PATHX=1", "LANG=C"})
	want := []string{"PATH=/bin", "LC_ALL=C", "TERM=xterm", "LANG=C"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
