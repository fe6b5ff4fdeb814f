package tmux

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/agentform/agentform/internal/tmuxwire"
	"github.com/agentform/agentform/session"
)

// FuzzReplies checks that each request gets its own text or error, whatever requests and
// tmux print.
func FuzzReplies(f *testing.F) {
	f.Add("%1", "N 0 end", "can't find session: x")
	f.Add("", "\n\n", "a\nb")
	f.Add("N 2 begin\nx\nN 2 end\n", "N 1 begin", "")
	f.Fuzz(func(t *testing.T, first, third, complaint string) {
		nonce := newNonce()
		printed := func(text string) string {
			if text != "" {
				text += "\n"
			}
			return text
		}
		out := mark(nonce, 0, "begin") + "\n" + printed(first) + mark(nonce, 0, "end") + "\n" +
			mark(nonce, 1, "begin") + "\n" + "half of it\n" +
			mark(nonce, 2, "begin") + "\n" + printed(third) + mark(nonce, 2, "end") + "\n"
		batch := []*request{{cmds: []tmuxwire.Command{{"a"}}}, {cmds: []tmuxwire.Command{{"b"}}}, {cmds: []tmuxwire.Command{{"c"}}}}
		answer(batch, nonce, out, failure("source-file", complaint, errors.New("exit status 1")))
		if batch[0].err != nil || batch[0].text != first || batch[2].err != nil || batch[2].text != third {
			t.Fatalf("got %q, %v and %q, %v", batch[0].text, batch[0].err, batch[2].text, batch[2].err)
		}
		if batch[1].err == nil || batch[1].text != "" {
			t.Fatalf("what failed printed %q, %v", batch[1].text, batch[1].err)
		}
	})
}

func TestErrorsFindTheirRequests(t *testing.T) {
	three := func() []*request {
		return []*request{{cmds: []tmuxwire.Command{{"a"}}}, {cmds: []tmuxwire.Command{{"b"}}}, {cmds: []tmuxwire.Command{{"c"}}}}
	}
	out := "N 0 begin\nN 1 begin\nx\nN 1 end\nN 2 begin\n"
	batch := three()
	answer(batch, "N", out, failure("source-file", "duplicate session: a\ncan't find session: c", nil))
	if !errors.Is(batch[0].err, session.ErrExists) || batch[1].err != nil || !errors.Is(batch[2].err, session.ErrGone) {
		t.Errorf("%v, %v, %v; want exists, none, gone", batch[0].err, batch[1].err, batch[2].err)
	}
	batch = three()
	answer(batch, "N", out, failure("source-file", "can't find session: c\nbad value", nil))
	if batch[2].err == nil || errors.Is(batch[2].err, session.ErrGone) {
		t.Errorf("%v, want an error that is not the other's", batch[2].err)
	}
	batch = three()
	answer(batch, "N", out, failure("source-file", "one\ntwo\ncan't find session: c", nil))
	if batch[0].err == nil || errors.Is(batch[0].err, session.ErrGone) || errors.Is(batch[2].err, session.ErrGone) {
		t.Errorf("%v, %v: nothing can be concluded from these", batch[0].err, batch[2].err)
	}
	batch = three()
	answer(batch, "N", "", failure("source-file", "server exited unexpectedly", nil))
	for _, q := range batch {
		if !errors.Is(q.err, tmuxwire.ErrNoServer) {
			t.Errorf("%v, want that the server is leaving", q.err)
		}
	}
}

func TestFailure(t *testing.T) {
	for output, want := range map[string]error{
		"server exited unexpectedly":                     tmuxwire.ErrNoServer,
		"can't find session: app":                        session.ErrGone,
		"duplicate session: app":                         session.ErrExists,
		"protocol version mismatch (client 8, server 7)": nil,
	} {
		if err := failure("list-panes", output, nil); !errors.Is(err, want) && want != nil || want == nil && err.Err != nil {
			t.Errorf("%s: %v, want %v", output, err.Err, want)
		}
	}
}

func TestParsePanesOfSessions(t *testing.T) {
	var list strings.Builder
	for _, p := range [][3]string{{"a", "%5", "%3"}, {"a", "%3", "%3"}, {"b", "%7", "%4"}, {"c", "%8", ""}, {"c", "%9", ""}} {
		fmt.Fprintf(&list, "N|%s|%s|7|0|||0|0|0|80|24||%s||||\n", p[0], p[1], p[2])
	}
	got, err := parsePanes(list.String(), "N")
	var all []string
	for _, p := range got {
		all = append(all, fmt.Sprint(p.Session, p.ID, p.closed))
	}
	if want := []string{"a%3false", "b%7true", "c%8false"}; err != nil || !slices.Equal(all, want) {
		t.Errorf("got %q, %v; want %q", all, err, want)
	}
}

func TestParsePanes(t *testing.T) {
	row := func(title string) string {
		return "N|" + strings.Join([]string{"a", "%1", "7", "0", "", "", "1", "0", "2", "200", "50", "1700000000", "%1", "", `\{\}`, "/", title}, "|")
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

func TestEnvironmentIsAllowed(t *testing.T) {
	got := environment([]string{"PATH=/bin", "LC_ALL=C", "TMUX=/x,1,0", "SECRET=1", "AGENTFORM_RUN=1", "TERM=xterm", "PATHX=1", "LANG=C"})
	want := []string{"PATH=/bin", "LC_ALL=C", "TERM=xterm", "LANG=C"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
