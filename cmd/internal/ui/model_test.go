package ui_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mattn/go-runewidth"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/cmd/internal/ui"
	"github.com/agentform/agentform/session"
)

var begin = time.Date(2026, 3, 14, 9, 0, 0, 0, time.UTC)

// person is a user at a terminal.
type person struct {
	t *testing.T
	ui.Model
	at            time.Time
	width, height int
	requests      []any // of the last message
}

func open(t *testing.T, width, height int, rows ...ui.Row) *person {
	p := &person{t: t, Model: ui.New(false), at: begin}
	p.resize(width, height)
	p.give(ui.Observed{Fleet: fleet(rows...)})
	return p
}

func fleet(rows ...ui.Row) ui.Fleet {
	return ui.Fleet{At: begin, Project: "shop", Hub: "hub down", Counts: fmt.Sprint(len(rows), " sessions"), Rows: rows}
}

func row(name, status string) ui.Row {
	return ui.Row{Address: session.Single(name), Status: status, Screen: "the screen of " + name, Version: "1"}
}

func (p *person) give(message any) {
	p.t.Helper()
	p.Model, p.requests = p.Update(message, p.at)
	screen, _ := p.View()
	lines := strings.Split(screen, "\n")
	if p.width >= 20 && p.height >= 5 && len(lines) != p.height {
		p.t.Fatalf("%d lines on a terminal of %d", len(lines), p.height)
	}
	for _, l := range lines {
		if runewidth.StringWidth(l) > p.width {
			p.t.Fatalf("wider than %d columns: %q", p.width, l)
		}
	}
}

func (p *person) resize(width, height int) {
	p.t.Helper()
	p.width, p.height = width, height
	p.give(ui.Size{Width: width, Height: height})
}

func (p *person) press(keys ...string) {
	p.t.Helper()
	for _, k := range keys {
		text := k
		if len([]rune(k)) > 1 {
			text = ""
		}
		p.give(ui.Key{Name: k, Text: text})
	}
}

func (p *person) see(texts ...string) {
	p.t.Helper()
	screen, _ := p.View()
	for _, text := range texts {
		if !strings.Contains(screen, text) {
			p.t.Fatalf("the screen lacks %q:\n%s", text, screen)
		}
	}
}

func (p *person) miss(text string) {
	p.t.Helper()
	if screen, _ := p.View(); strings.Contains(screen, text) {
		p.t.Fatalf("the screen has %q:\n%s", text, screen)
	}
}

// asked returns the last message's requests of a type.
func asked[T any](p *person) (found []T) {
	for _, r := range p.requests {
		if x, is := r.(T); is {
			found = append(found, x)
		}
	}
	return found
}

func (p *person) selected() string {
	screen, _ := p.View()
	for l := range strings.SplitSeq(screen, "\n") {
		if name, is := strings.CutPrefix(l, "> "); is {
			return strings.Fields(name)[0]
		}
	}
	return ""
}

func (p *person) selects(want string) {
	p.t.Helper()
	if got := p.selected(); got != want {
		screen, _ := p.View()
		p.t.Fatalf("%q is selected, want %q:\n%s", got, want, screen)
	}
}

// TestSelection checks that the selection stays with a session when the order changes, and with its
// place when the session is gone. Until a key is pressed the first is selected.
func TestSelection(t *testing.T) {
	a, b, c := row("a", "works"), row("b", "works"), row("c", "works")
	p := open(t, 80, 24, a, b, c)
	p.selects("a")
	p.give(ui.Observed{Fleet: fleet(c, a, b)})
	p.selects("c")
	p.press("j")
	p.selects("a")
	p.see("the screen of a")
	p.give(ui.Observed{Fleet: fleet(b, c, a)})
	p.selects("a")
	p.press("k", "k", "k", "k")
	p.selects("b")
	p.press("G")
	p.selects("a")
	p.give(ui.Observed{Fleet: fleet(b, c)})
	p.selects("c")
	p.give(ui.Observed{Fleet: fleet()})
	p.selects("")
	p.see("no sessions", ":run -a AGENT -p 'PROMPT'")
	p.press("enter", "a", "s", "r", "d", "x")
	p.give(ui.Observed{Err: errors.New("the state is damaged")})
	p.see("the state is damaged")
}

func TestNext(t *testing.T) {
	needy := func(name string) ui.Row { r := row(name, "asks"); r.Needs = true; return r }
	p := open(t, 80, 24, needy("a"), needy("b"), row("c", "works"))
	for _, want := range []string{"b", "a", "b"} {
		p.press("n")
		p.selects(want)
	}
	p.press("G", "n")
	p.selects("a")
}

func TestFilter(t *testing.T) {
	web := row("web", "asks")
	web.About = "builder codex agents/web"
	p := open(t, 80, 24, row("api", "works"), web, row("docs", "works"))
	p.press("/", "B", "u", "i")
	p.selects("web")
	p.miss("docs")
	p.press("enter")
	p.see("/Bui 1 of 3")
	p.press("/", " ", "z", "z")
	p.see("none matches")
	p.press("esc")
	p.see("docs", "api")
	p.selects("web")
	p.press("/", "d", "o", "enter", "esc")
	p.see("web")
}

func TestTabs(t *testing.T) {
	p := open(t, 80, 24, row("a", "works"), row("b", "works"))
	p.see("[Screen]", "the screen of a")
	if loads := asked[ui.Load](p); len(loads) != 1 || loads[0].Tab != ui.Screen || loads[0].Width != 47 {
		t.Fatalf("asked for %+v", loads)
	}
	p.press("d")
	load := asked[ui.Load](p)
	if len(load) != 1 || load[0].Tab != ui.Diff || load[0].Address != "session.a" {
		t.Fatalf("asked for %+v", load)
	}
	p.see("[Diff]", "loading")
	// The result for an earlier page is kept but not shown.
	p.press("j")
	p.give(ui.Loaded{Load: load[0], Text: "+of a\n"})
	p.miss("of a")
	p.press("k")
	p.see("+of a")
	if again := asked[ui.Load](p); len(again) != 0 {
		t.Errorf("a page that is fresh is loaded again: %+v", again)
	}
	p.press("p")
	load = asked[ui.Load](p)
	if len(load) != 1 || load[0].Address != "" {
		t.Fatalf("the plan is of %+v", load)
	}
	p.give(ui.Loaded{Load: load[0], Err: errors.New("the manifest\nis faulty")})
	p.see("the manifest", "is faulty")
	for _, x := range [][2]string{{"l", "[Log]"}, {"e", "[Events]"}, {"tab", "[Plan]"}, {"tab", "[Screen]"}, {"shift+tab", "[Plan]"}, {"2", "[Diff]"}, {"esc", "[Screen]"}} {
		p.press(x[0])
		p.see(x[1])
	}
}

// TestGaps checks the text of an agent that writes at the top of a tall screen, with its composer
// at the bottom.
func TestGaps(t *testing.T) {
	tall := row("a", "works")
	tall.Screen = "written at the top" + strings.Repeat("\n", 60) + "> the composer"
	p := open(t, 80, 24, tall)
	p.see("written at the top", "> the composer")
}

// TestReload checks that a page is loaded again when its session has changed, at most at the tab's
// rate, and never at rest.
func TestReload(t *testing.T) {
	a := row("a", "works")
	p := open(t, 80, 24, a)
	p.give(ui.Loaded{Load: asked[ui.Load](p)[0], Text: "one"})
	if len(p.requests) != 0 {
		t.Errorf("a still screen asks for %+v", p.requests)
	}
	p.at = p.at.Add(time.Minute)
	p.give(ui.Observed{Fleet: fleet(a)})
	if len(p.requests) != 0 {
		t.Errorf("at rest: %+v", p.requests)
	}
	a.Version, a.Moved = "2", p.at
	p.give(ui.Observed{Fleet: fleet(a)})
	load := asked[ui.Load](p)
	if len(load) != 1 {
		t.Fatalf("changed: %+v", p.requests)
	}
	p.give(ui.Loaded{Load: load[0], Text: "two"})
	p.see("two")
	if len(asked[ui.Load](p)) != 0 || len(asked[ui.Wake](p)) != 1 {
		t.Errorf("a moving screen asks for %+v", p.requests)
	}
	p.at = p.at.Add(asked[ui.Wake](p)[0].After)
	p.give(ui.Woken{})
	if len(asked[ui.Load](p)) != 1 {
		t.Errorf("woken: %+v", p.requests)
	}
}

func TestScroll(t *testing.T) {
	var text strings.Builder
	for i := range 100 {
		fmt.Fprintf(&text, "line %02d %s tail\n", i, strings.Repeat("x", 60))
	}
	p := open(t, 80, 24, row("a", "works"))
	p.give(ui.Loaded{Load: asked[ui.Load](p)[0], Text: text.String()})
	p.see("line 99")
	p.miss("tail")
	p.press("right", "right", "right", "right")
	p.see("tail")
	p.press("left", "left", "left", "left", "left", "pgup")
	p.see("line 79")
	p.miss("line 99")
	p.press("K")
	p.see("line 60")
	for range 20 {
		p.press("pgup")
	}
	p.see("line 00")
	p.press("pgdown", "pgdown", "pgdown", "pgdown", "pgdown", "pgdown")
	p.see("line 99")
	p.press("z")
	p.see("tail")
	p.press("z", "d")
	p.give(ui.Loaded{Load: asked[ui.Load](p)[0], Text: text.String()})
	p.see("line 00") // a diff starts at its top
	p.press("J")
	p.miss("line 00")
}

func TestAttach(t *testing.T) {
	p := open(t, 80, 24, ui.Row{Address: session.Keyed("worker", "web")})
	p.press("enter")
	if got := asked[ui.Terminal](p); len(got) != 1 || !slices.Equal(got[0].Args, []string{"attach", "--", `session.worker["web"]`}) || got[0].Stay {
		t.Errorf("enter asks for %+v", p.requests)
	}
	p.give(ui.Returned{Terminal: ui.Terminal{}, Err: errors.New("no such program")})
	p.see("no such program")
}

func TestSend(t *testing.T) {
	p := open(t, 80, 24, row("a", "works"), row("b", "works"))
	p.press("s")
	p.press("q", "x", "backspace", " ", "left", "home", "-", "end")
	p.give(ui.Paste("two\r\nlines\x1b[31m"))
	p.see("send to a: -q two⏎lines[31m")
	// The order changes meanwhile; the text is sent to the original session.
	p.give(ui.Observed{Fleet: fleet(row("b", "asks"))})
	p.press("enter")
	got := asked[ui.Do](p)
	if len(got) != 1 || !slices.Equal(got[0].Args, []string{"send", "--", "session.a", "-q two\nlines[31m"}) {
		t.Fatalf("asked for %q", got)
	}
	p.see("send to a…")
	p.give(ui.Done{Do: got[0], Err: errors.New("it asks a question")})
	p.see("send to a: it asks a question")
	p.press("s", "esc", "s", "enter", "s", "backspace")
	if len(p.requests) != 0 {
		t.Errorf("nothing typed: %+v", p.requests)
	}
	p.give(ui.Paste("q"))
	p.press("j")
	if len(p.requests) > 1 {
		t.Errorf("what is pasted beside a line is no keys: %+v", p.requests)
	}
}

func TestRestart(t *testing.T) {
	p := open(t, 80, 24, row("a", "works"))
	p.press("r", "n")
	if len(asked[ui.Do](p)) != 0 {
		t.Error("restarted without a yes")
	}
	p.press("r")
	p.see("restart a? y/n")
	p.press("y")
	got := asked[ui.Do](p)
	if len(got) != 1 || !slices.Equal(got[0].Args, []string{"restart", "--", "session.a"}) {
		t.Fatalf("asked for %+v", p.requests)
	}
	// It quits when the restart has finished.
	p.press("q")
	p.see("finishing: restart a")
	if len(asked[ui.Quit](p)) != 0 {
		t.Error("left in the middle of it")
	}
	p.give(ui.Done{Do: got[0], Text: "noise\nsession.api: restarted\n"})
	if len(asked[ui.Quit](p)) != 1 {
		t.Error("still here")
	}
	p.press("r", "y", "q", "ctrl+c")
	if len(asked[ui.Quit](p)) != 1 {
		t.Error("the second time it does not wait")
	}
}

// TestActions checks that useless keys are refused, and not offered.
func TestActions(t *testing.T) {
	ended := row("a", "stopped")
	ended.Actions = []api.Action{api.ActionStart}
	p := open(t, 120, 24, ended)
	for key, says := range map[string]string{"x": "a (stopped): there is nothing to stop", "s": "a (stopped): nothing can be sent now"} {
		p.press(key)
		p.see(says)
	}
	p.press("r")
	p.see("restart a? y/n")
	p.press("n")
	p.press("j") // the message disappears
	p.see("r restart")
	p.miss("x stop")
	p.miss("s send")
}

// TestStopAndLand checks that stopping, refreshing and landing need a confirmation.
func TestStopAndLand(t *testing.T) {
	worked := row("a", "idle")
	worked.Work = "agents/a  +3 ↑1"
	p := open(t, 80, 24, worked)
	p.see("agents/a  +3 ↑1")
	p.press("x", "n")
	p.see("stop canceled")
	p.press("x", "y")
	if got := asked[ui.Do](p); len(got) != 1 || !slices.Equal(got[0].Args, []string{"stop", "--", "session.a"}) {
		t.Errorf("asked for %+v", p.requests)
	}
	p.press("R", "n")
	p.see("refresh canceled")
	p.press("R")
	p.see("refresh a? y/n")
	p.press("y")
	if got := asked[ui.Do](p); len(got) != 1 || !slices.Equal(got[0].Args, []string{"refresh", "--", "session.a"}) {
		t.Errorf("asked for %+v", p.requests)
	}
	p.press("L")
	p.see("a all sessions")
	p.press("a")
	if got := asked[ui.Terminal](p); len(got) != 1 || !slices.Equal(got[0].Args, []string{"land", "--all", "--ask"}) || !got[0].Stay {
		t.Errorf("asked for %+v", p.requests)
	}
	for key, want := range map[string]string{"m": "--merge", "s": "--squash", "r": "--rebase", "p": "--pr"} {
		p.press("L")
		p.see("s squash", "agents/a  +3 ↑1")
		p.press(key)
		if got := asked[ui.Terminal](p); len(got) != 1 || !slices.Equal(got[0].Args, []string{"land", want, "--", "session.a"}) || !got[0].Stay {
			t.Errorf("%s: asked for %+v", key, p.requests)
		}
	}
	p.press("L", "esc")
	if p.see("land canceled"); len(p.requests) != 0 {
		t.Errorf("asked for %+v", p.requests)
	}
}

// TestTitles checks that the selected tab is shown, however narrow the page is.
func TestTitles(t *testing.T) {
	p := open(t, 60, 20, row("a", "idle"))
	for i, title := range []string{"[Screen]  D   L   E   P ", " S  [Diff]  L ", " D  [Log]  E ", "[Events]  P", " E  [Plan]"} {
		p.press(fmt.Sprint(i + 1))
		p.see(title)
	}
}

func question() *session.Question {
	return &session.Question{ID: "q1", Text: `run "touch x"?`, Options: []session.Option{
		{Number: 1, Word: session.Yes, Label: "Yes"},
		{Number: 2, Word: session.Always, Label: "Yes, and don't ask again"},
		{Number: 3, Label: "Other", Text: true},
		{Number: 4, Word: session.No, Label: "No"},
	}}
}

func TestAnswer(t *testing.T) {
	asks := row("a", "asks")
	asks.Question = question()
	for keys, want := range map[string]string{"y": session.Yes, "a": session.Always, "n": session.No, "2": "2", "x y enter": "xy"} {
		p := open(t, 100, 24, asks)
		p.press("a")
		p.see(`run "touch x"?`, "[y] Yes", "[a] Yes, and", "[text] Other", "[n] No")
		// A question is not answered if another one is shown.
		other := asks
		other.Question = &session.Question{ID: "q2"}
		p.give(ui.Observed{Fleet: fleet(other)})
		p.press(strings.Fields(keys)...)
		got := asked[ui.Do](p)
		if len(got) != 1 || !slices.Equal(got[0].Args, []string{"answer", "--question", "q1", "--", "session.a", want}) {
			t.Errorf("%s: asked for %+v", keys, p.requests)
		}
	}
	// With little room, labels and question are cut, but every answer is shown.
	for _, columns := range []int{80, 60, 50} {
		p := open(t, columns, 20, asks)
		p.press("a")
		p.see("[y] Yes", "[a] Yes", "[text] ", "[n] No")
	}
	p := open(t, 80, 24, asks)
	p.press("a", "esc")
	if len(asked[ui.Do](p)) != 0 {
		t.Error("answered by esc")
	}
	p = open(t, 80, 24, row("a", "works"))
	p.press("a")
	p.see("no question")
}

func TestCommand(t *testing.T) {
	for typed, want := range map[string][]string{
		"stop %":                           {"stop", "session.a"},
		`agentform send % 'it is' "a \"b"`: {"send", "session.a", "it is", `a "b`},
		"run -a codex ''":                  {"run", "-a", "codex", ""},
	} {
		p := open(t, 80, 24, row("a", "works"))
		p.press(":")
		p.press(strings.Split(typed, "")...)
		p.press("enter")
		if got := asked[ui.Terminal](p); len(got) != 1 || !slices.Equal(got[0].Args, want) || !got[0].Stay {
			t.Errorf("%s: asked for %+v", typed, p.requests)
		}
	}
	p := open(t, 80, 24, row("a", "works"))
	p.press(":", "q", "enter")
	if len(asked[ui.Quit](p)) != 1 {
		t.Error(":q does not quit")
	}
}

// TestCommandFiltered checks that a command stays with its session if that leaves the list meanwhile.
func TestCommandFiltered(t *testing.T) {
	p := open(t, 80, 24, row("api", "idle"), row("web", "idle"))
	p.press("/", "i", "d", "l", "e", "enter", ":", "s", "t", "o", "p", " ", "%")
	p.see("% is api")
	p.give(ui.Observed{Fleet: fleet(row("api", "working"), row("web", "idle"))})
	p.see("% is api")
	p.press("enter")
	if len(p.requests) == 0 {
		t.Fatal("nothing is asked for")
	}
	if got, is := p.requests[0].(ui.Terminal); !is || !slices.Equal(got.Args, []string{"stop", "session.api"}) {
		t.Errorf("asked for %+v", p.requests)
	}
}

// TestHostile checks that agents' control sequences do not reach the terminal.
func TestHostile(t *testing.T) {
	const evil = "\x1b]0;owned\x07\x1b[2J\u202e\u009b31m\r!\a"
	for _, color := range []bool{false, true} {
		r := row("a", "asks"+evil)
		r.Reason, r.Screen, r.Question = evil, strings.Repeat(evil+"\n", 30), &session.Question{Text: evil, Options: []session.Option{{Number: 1, Label: evil}}}
		m := ui.New(color)
		f := fleet(r)
		f.Project, f.Counts, f.Hub = evil, evil, evil
		m, _ = m.Update(ui.Observed{Fleet: f}, begin)
		for _, k := range []string{"d", "l", "e", "p", "esc", "a"} {
			var requests []any
			m, requests = m.Update(ui.Key{Name: k, Text: k}, begin)
			for _, r := range requests {
				if load, is := r.(ui.Load); is {
					m, _ = m.Update(ui.Loaded{Load: load, Text: "+" + evil + "\n" + evil}, begin)
				}
			}
			screen, _ := m.View()
			rest := strings.NewReplacer("\n", "").Replace(screen)
			for _, sgr := range []string{"0", "1", "2", "7", "31", "32", "33", "36"} {
				rest = strings.ReplaceAll(rest, "\x1b["+sgr+"m", "")
			}
			if strings.ContainsFunc(rest, func(c rune) bool { return c < 0x20 || c >= 0x7f && c < 0xa0 || c == 0x202e }) {
				t.Errorf("color %v, key %s: %q", color, k, screen)
			}
			if !color && strings.Contains(screen, "\x1b") {
				t.Errorf("colors, and there should be none: %q", screen)
			}
		}
	}
}

func TestSizes(t *testing.T) {
	var rows []ui.Row
	for i := range 200 {
		r := row(fmt.Sprintf("worker-with-a-long-name-%d", i), "working 3m")
		r.Reason = "日本語 のテキスト " + strings.Repeat("long ", 40)
		rows = append(rows, r)
	}
	p := open(t, 80, 24, rows...)
	for _, size := range [][2]int{{80, 24}, {59, 24}, {200, 60}, {20, 5}, {10, 2}, {1, 1}, {60, 10}} {
		p.resize(size[0], size[1])
		p.press("j", "?", "x", "/", "w", "esc", "s", "日", "esc", "z", "l", "z", "esc", "G", "g")
	}
}
