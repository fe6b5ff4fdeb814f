package input

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentform/agentform/session"
)

// desk is an agent with a composer.
type desk struct {
	session.Runtime // only Send is used
	session.Agent   // not used
	keys            []string
	composed        string
	// enter is the agent's reaction to the n-th Enter, from 1.
	enter         func(d *desk, n int)
	now           Snapshot
	enters, looks int
	unread        []session.Input
	runs          time.Time // when it starts to read typed text
	loses         string    // the next key that it loses: one of keys
	footer        string    // the line below its composer
	drawn         string    // the content of its composer at the last look
	late          bool      // what Late returns
	// onLook runs before each observation.
	onLook func(d *desk)
	// pausedAt is the number of the first key that a pause refuses; 0: none.
	pausedAt int
}

func (d *desk) Composer(screen string) (string, bool) {
	i := strings.LastIndex(screen, "> ")
	if i < 0 {
		return "", false
	}
	line, _, _ := strings.Cut(screen[i+2:], "\n")
	return strings.TrimSpace(line), true
}

func (d *desk) Typed(text string) string {
	if strings.HasPrefix(text, "/") {
		return " " + text
	}
	return text
}

func (d *desk) Late() bool { return d.late }

func (d *desk) Ready(string) bool { return true }

func (d *desk) Send(ctx context.Context, _ session.Location, in session.Input) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if d.pausedAt > 0 && len(d.keys) >= d.pausedAt-1 {
		return session.ErrRefused
	}
	key := in.Key
	if key == "" {
		key = "text " + in.Text
	}
	if d.keys = append(d.keys, key); key == d.loses {
		d.loses = ""
		return nil
	}
	d.unread = append(d.unread, in)
	return nil
}

// read reads typed text, unless the agent is not running yet.
func (d *desk) read() {
	for len(d.unread) > 0 && !time.Now().Before(d.runs) {
		in := d.unread[0]
		d.unread = d.unread[1:]
		switch {
		case in.Key == "C-u":
			d.composed = ""
		case in.Key == "BSpace":
			d.composed = d.composed[:max(0, len(d.composed)-1)]
		case in.Key == "":
			d.composed += in.Text
		case strings.Contains(marks, in.Key):
			d.composed += in.Key
		}
		if in.Key == "Enter" || in.Key == "" && !in.NoEnter {
			d.enters++
			d.enter(d, d.enters)
		}
	}
}

func (d *desk) observe(context.Context) (Snapshot, error) {
	d.looks++
	if d.onLook != nil {
		d.onLook(d)
	}
	d.read()
	s := d.now
	s.Screen += "> " + d.composed + d.footer
	d.drawn = d.composed
	return s, nil
}

// takes submits the text in the composer to the screen.
func takes(d *desk, _ int) {
	d.now.Screen += d.composed + "\n"
	d.composed = ""
}

// takesDrawn submits the composer's content at the last look, as Qwen Code 0.15.10 does.
func takesDrawn(d *desk, _ int) {
	d.now.Screen += d.drawn + "\n"
	d.composed = ""
}

func nothing(*desk, int) {}

// idle returns the snapshot of an agent at rest.
func idle(screen string) Snapshot {
	return Snapshot{Screen: screen, Detection: session.Detection{Activity: session.Idle}}
}

func TestSend(t *testing.T) {
	second := func(d *desk, n int) {
		if n == 2 {
			takes(d, n)
		}
	}
	fourth := func(d *desk, n int) {
		if n == 4 {
			takes(d, n)
		}
	}
	leaves := func(d *desk, _ int) { d.now.Detection = session.Detection{Activity: session.Exited, Source: "exit"} }
	lost := func(d *desk, n int) {
		if d.composed = ""; n == 2 {
			d.composed = "do it"
			takes(d, n)
		}
	}
	for name, c := range map[string]struct {
		text     string
		before   Snapshot
		draft    string
		enter    func(*desk, int)
		verbatim bool
		want     string // the outcome or the error, then the typed text
	}{
		"stands above an empty composer": {"do it", idle("hello\n"), "", takes, false, "submitted: C-u text do it"},
		"a draft is cleared":             {"do it", idle("hello\n"), "old", takes, false, "submitted: C-u BSpace text do it"},
		"what would be a command":        {"/clear", idle("hello\n"), "", takes, false, "submitted: C-u text  /clear"},
		"what is a command":              {"/clear", idle("hello\n"), "", takes, true, "submitted: C-u text /clear"},
		"a command that clears":          {"/clear", idle("hello\n"), "", func(d *desk, _ int) { d.composed, d.now.Screen = "", "new\n" }, true, "submitted: C-u text /clear . BSpace"},
		"a command that is lost":         {"/clear", idle("hello\n"), "", lost, true, "the text was typed, and nothing shows: C-u text /clear"},
		"a hook tells":                   {"do it", idle("hello\n"), "", func(d *desk, _ int) { d.now.HookEvents++ }, false, "submitted: C-u text do it"},
		"the session file tells": {"do it", idle("hello\n"), "", func(d *desk, _ int) { d.now.Transcript = &session.Transcript{Prompts: 1} }, false,
			"submitted: C-u text do it"},
		"it begins to work": {"do it", idle("hello\n"), "", func(d *desk, _ int) { d.composed, d.now.Detection.Activity = "", session.Working }, false, "submitted: C-u text do it"},
		"it works already":  {"do it", Snapshot{Screen: "busy\n", Detection: session.Detection{Activity: session.Working}}, "", takes, false, "queued: C-u text do it"},
		"only its end still shows": {"do it\n" + strings.Repeat("so\n", 99) + "and then this", Snapshot{Screen: "busy\n", Detection: session.Detection{Activity: session.Working}}, "",
			func(d *desk, _ int) { d.composed, d.now.Screen = "", "busy\nso\n  and then this\n" }, false, "queued: C-u text do it\n" + strings.Repeat("so\n", 99) + "and then this"},
		"it keeps a copy, and the file tells": {"do it", Snapshot{Screen: "hello\n", Detection: session.Detection{Activity: session.Working}, Tells: true}, "", func(d *desk, _ int) {
			at := time.Now()
			d.onLook = func(d *desk) {
				if slices.Contains(d.keys, ".") {
					d.now.Messages = []session.Message{{At: at, Text: "do it"}}
				}
			}
		}, false, "queued: C-u text do it . BSpace"},
		"it keeps a copy":      {"do it", idle("hello\n"), "", func(d *desk, _ int) { d.now.Screen += d.composed + "\n" }, false, "submitted: C-u text do it"},
		"Enter broke the line": {"do it", idle("hello\n"), "", second, false, "submitted: C-u text do it . BSpace Enter"},
		"Enter is never heard": {"do it", idle("hello\n"), "", nothing, false, "the text was typed, and is still in the composer after Enter was pressed again: C-u text do it" + strings.Repeat(" . BSpace Enter", 4)},
		"Enter is heard late":  {"do it", idle("hello\n"), "", fourth, false, "submitted: C-u text do it" + strings.Repeat(" . BSpace Enter", 3)},
		"nothing shows it":     {"do it", idle("hello\n"), "", func(d *desk, _ int) { d.composed = ""; d.now.Screen = "new\n" }, false, "the text was typed, and nothing shows: C-u text do it . BSpace"},
		"the one before is told": {"do it", Snapshot{Screen: "hello\n", Detection: session.Detection{Activity: session.Idle}, Tells: true, Transcript: &session.Transcript{}}, "", func(d *desk, n int) {
			d.now.HookEvents, d.now.Transcript, d.now.Detection.Activity = 1, &session.Transcript{Prompts: 1}, session.Working
			d.now.Messages = []session.Message{{At: time.Now(), Text: "hello"}}
			atSecond(d, n, "\n")
		}, false, "submitted: C-u text do it . BSpace Enter"},
		"it is told": {"do it", Snapshot{Screen: "hello\n", Detection: session.Detection{Activity: session.Working}, Tells: true}, "", func(d *desk, n int) {
			d.composed, d.now.Screen, d.now.Messages = "", "busy\n", []session.Message{{At: time.Now(), Text: "hello\n\ndo it"}}
		}, false, "queued: C-u text do it"},
		"the same is there already": {"do it", idle("> do it\ndone\n"), "", func(d *desk, n int) {
			if d.now.Screen += "a hint\n"; n == 2 {
				takes(d, n)
			}
		}, false, "submitted: C-u text do it . BSpace Enter"},
		"a command to leave": {"/exit", idle("hello\n"), "", leaves, true, "submitted: C-u text /exit"},
		"it is lost while it draws": {"do it", Snapshot{Screen: "hello\n", Detection: session.Detection{Activity: session.Idle}, Transcript: &session.Transcript{Prompts: 1}}, "", func(d *desk, n int) {
			if d.composed, d.now.Screen = "", "hello, and a hint\n"; n == 2 {
				d.composed = "do it"
				takes(d, n)
			}
		}, false, "submitted: C-u text do it . BSpace text do it"},
		"it leaves instead":     {"do it", idle("hello\n"), "", leaves, false, "the text was typed, and the agent exited: the session is gone: C-u text do it"},
		"it is lost once":       {"do it", idle("hello\n"), "", lost, false, "the text was typed, and nothing shows: C-u text do it"},
		"Enter raised a dialog": {"do it", idle("hello\n"), "", func(d *desk, _ int) { d.now.Detection.Activity = session.Blocked }, false, "submitted: C-u text do it"},
		"it asks something": {"do it", Snapshot{Screen: "May I?\n", Detection: session.Detection{Activity: session.Blocked, Detail: "May I?"}}, "", takes, false,
			"the agent asks a question: "},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &desk{enter: c.enter, now: c.before, composed: c.draft}
				outcome, err := Sender{Runtime: d, Agent: d, Observe: d.observe, BootTimeout: time.Minute}.Send(t.Context(), c.text, c.verbatim)
				got := string(outcome)
				if err != nil {
					got, _, _ = strings.Cut(err.Error(), "; the screen")
					got, _, _ = strings.Cut(got, ", so the text")
					got, _, _ = strings.Cut(got, " that the agent")
				}
				if got = fmt.Sprintf("%s: %s", got, strings.Join(d.keys, " ")); got != c.want {
					t.Errorf("%q\nwant %q", got, c.want)
				}
				var shows interface{ Excerpt() string }
				if err != nil && !errors.Is(err, session.ErrGone) && (!errors.As(err, &shows) || !strings.Contains(shows.Excerpt(), d.now.Screen)) {
					t.Errorf("the error does not show the screen: %v", err)
				}
			})
		})
	}
}

// TestSendKeepsDraft checks that a text that no person sends does not replace what somebody has begun
// to type.
func TestSendKeepsDraft(t *testing.T) {
	for draft, want := range map[string]string{"": "C-u text do it", "old": ""} {
		synctest.Test(t, func(t *testing.T) {
			d := &desk{enter: takes, now: idle("hello\n"), composed: draft}
			_, err := Sender{Runtime: d, Agent: d, Observe: d.observe, KeepDraft: true}.Send(t.Context(), "do it", false)
			kept, is := errors.AsType[*DraftError](err)
			if keys := strings.Join(d.keys, " "); keys != want || is != (draft != "") || is && !strings.Contains(kept.Excerpt(), "hello") {
				t.Errorf("%q: %v, typed %q", draft, err, keys)
			}
		})
	}
}

// TestSendToOneThatIsSlow checks that a text is typed once, however late an agent reads it, and
// whatever it does with an Enter that it reads with a text.
func TestSendToOneThatIsSlow(t *testing.T) {
	transcript := &session.Transcript{Prompts: 1}
	for name, c := range map[string]struct {
		enter func(*desk, int)
		after time.Duration
		want  string
	}{
		"it submits":                        {takes, 4 * time.Second, "submitted: C-u text do it"},
		"it is very slow":                   {takes, 28 * time.Second, "submitted: C-u text do it"},
		"Enter breaks the line":             {func(d *desk, n int) { atSecond(d, n, "\n") }, 4 * time.Second, "submitted: C-u text do it . BSpace Enter"},
		"Enter is lost":                     {func(d *desk, n int) { atSecond(d, n, "") }, 4 * time.Second, "submitted: C-u text do it . BSpace Enter"},
		"it has lost the text":              {func(d *desk, n int) { atSecond(d, n, "lost") }, 4 * time.Second, "it may be in the input: C-u text do it"},
		"it has, and draws":                 {func(d *desk, n int) { d.now.Screen += "a hint\n"; atSecond(d, n, "lost") }, 4 * time.Second, "submitted: C-u text do it . BSpace text do it"},
		"it reads nothing":                  {takes, time.Hour, "it may be in the input: C-u text do it"},
		"it stops behind the text":          {stops(25 * time.Second), 0, "submitted: C-u text do it . , _ BSpace BSpace BSpace"},
		"it stops behind the text for good": {stops(time.Hour), 0, ": C-u text do it . , _ BSpace BSpace BSpace"},
		"it loads its conversation":         {loads(10 * time.Second), 0, "submitted: C-u text do it . , BSpace . BSpace text do it"},
		"it loses a mark":                   {loses(".", "\n"), 0, "submitted: C-u text do it . , BSpace Enter"},
		"it loses the removal of a mark":    {loses("BSpace", "\n"), 0, "submitted: C-u text do it . BSpace , BSpace BSpace Enter"},
		"it loses a repeated Enter":         {loses("Enter", "\n"), 0, "submitted: C-u text do it . BSpace Enter . BSpace Enter"},
		"it stops behind each Enter":        {stopsEach(5 * time.Second), 0, "submitted: C-u text do it . BSpace Enter . BSpace Enter"},
		"it does not show the text":         {func(d *desk, n int) { d.composed, d.now.Screen, d.now.HookEvents = "", "busy\n", 1 }, 4 * time.Second, "submitted: C-u text do it"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &desk{enter: c.enter, now: idle("hello\n")}
				d.now.Transcript = transcript
				s := Sender{Runtime: d, Agent: d, Observe: d.observe, BootTimeout: time.Minute}
				s.Typing = func(string, bool) error { d.runs = later(c.after); return nil }
				outcome, err := s.Send(t.Context(), "do it", false)
				got := string(outcome)
				if err != nil {
					got, _, _ = strings.Cut(err.Error(), "; the screen")
					_, got, _ = strings.Cut(got, "received it: ")
				}
				if got = fmt.Sprintf("%s: %s", got, strings.Join(d.keys, " ")); got != c.want {
					t.Errorf("%q\nwant %q", got, c.want)
				}
				d.runs = time.Time{}
				if d.read(); d.composed != "" {
					t.Errorf("%q is left in its composer", d.composed)
				}
				if n := strings.Count(d.now.Screen, "do it"); n > 1 || strings.ContainsAny(d.now.Screen, marks) {
					t.Errorf("it got the text %d times: %q", n, d.now.Screen)
				}
			})
		})
	}
}

// later returns the time after d.
func later(d time.Duration) time.Time { return time.Now().Add(d) }

// stops returns an agent that reads a text, and only later the Enter after it.
func stops(after time.Duration) func(*desk, int) {
	return func(d *desk, n int) {
		if n > 1 {
			takesDrawn(d, n)
			return
		}
		d.runs = later(after)
		d.unread = append([]session.Input{{Key: "Enter"}}, d.unread...)
	}
}

// loads returns an agent that loses input while it loads its conversation, with a line in place of
// its composer, and then accepts a text.
func loads(after time.Duration) func(*desk, int) {
	return func(d *desk, n int) {
		if n > 1 {
			takes(d, n)
			return
		}
		d.composed, d.runs = "said before", later(after)
		d.onLook = func(d *desk) {
			if time.Now().Before(d.runs) {
				return
			}
			d.composed, d.unread, d.onLook = "", nil, nil
		}
	}
}

// loses returns an agent that adds to a text that it reads with the Enter, and then loses a key
// once, or other input.
func loses(key, more string) func(*desk, int) {
	return func(d *desk, n int) {
		if n > 1 {
			takes(d, n)
			return
		}
		d.composed += more
		d.loses = key
	}
}

// atSecond is an agent that accepts a text at the second Enter. Before that, it adds to the text or
// loses it.
func atSecond(d *desk, n int, more string) {
	switch {
	case n > 1:
		takes(d, n)
	case more == "lost":
		d.composed = ""
	default:
		d.composed += more
	}
}

// stopsEach returns an agent that reads nothing for a while after each Enter, and accepts a text at
// the third.
func stopsEach(d time.Duration) func(*desk, int) {
	return func(k *desk, n int) {
		if k.runs = later(d); n == 3 {
			takes(k, n)
		}
	}
}

// TestSendToOneThatTellsLate checks that Enter is pressed again while a text is in the composer,
// and that a text that has left it is not typed again: opencode's server may accept it seconds
// later.
func TestSendToOneThatTellsLate(t *testing.T) {
	for name, c := range map[string]struct {
		ignores int           // how many Enter it ignores
		takes   time.Duration // how long it takes to submit its composer's content
		after   time.Duration // when its file has the text, after that
		want    string
	}{
		"Enter is ignored":               {ignores: 1, want: "submitted: C-u text do it . BSpace Enter"},
		"it is reported late":            {after: 9 * time.Second, want: "submitted: C-u text do it"},
		"it is reported late, once more": {ignores: 1, after: 9 * time.Second, want: "submitted: C-u text do it . BSpace Enter"},
		"it is submitted late":           {takes: 20 * time.Second, want: "submitted: C-u text do it"},
		"it is never reported":           {after: time.Hour, want: ": C-u text do it"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &desk{now: Snapshot{Screen: "hello\n", Detection: session.Detection{Activity: session.Idle}, Tells: true, Transcript: &session.Transcript{Prompts: 1}}, late: true}
				d.enter = func(d *desk, n int) {
					d.now.Screen = "hello, and a tip\n"
					if n <= c.ignores {
						return
					}
					text, at := "", time.Now().Add(c.takes)
					d.onLook = func(d *desk) {
						if text == "" && !time.Now().Before(at) {
							text, d.composed = d.composed, ""
						}
						if text != "" && time.Since(at) >= c.after {
							d.now.Messages = []session.Message{{At: at, Text: text}}
						}
					}
				}
				outcome, err := Sender{Runtime: d, Agent: d, Observe: d.observe, BootTimeout: time.Minute}.Send(t.Context(), "do it", false)
				if got := fmt.Sprintf("%s: %s", outcome, strings.Join(d.keys, " ")); got != c.want || (err == nil) != (outcome != "") {
					t.Errorf("%q, %v, want %q", got, err, c.want)
				}
			})
		})
	}
}

// TestCommandToOneThatTellsLate checks that a command of the agent counts as received when it has
// left the composer, and that Enter is pressed again until then.
func TestCommandToOneThatTellsLate(t *testing.T) {
	for name, c := range map[string]struct {
		ignores int    // how many Enter it ignores
		screen  string // after it
		want    string
		limit   time.Duration
	}{
		"it clears the screen": {screen: "home\n", want: "submitted: C-u text /new", limit: 2 * time.Second},
		"Enter is ignored":     {ignores: 1, screen: "home\n", want: "submitted: C-u text /new . BSpace Enter", limit: time.Minute},
		"it shows nothing":     {screen: "hello\n", want: ": C-u text /new", limit: 5 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &desk{now: idle("hello\n"), late: true}
				d.enter = func(d *desk, n int) {
					if n > c.ignores {
						d.composed, d.now.Screen = "", c.screen
					}
				}
				began := time.Now()
				outcome, err := Sender{Runtime: d, Agent: d, Observe: d.observe, BootTimeout: time.Minute}.Send(t.Context(), "/new", true)
				if got := fmt.Sprintf("%s: %s", outcome, strings.Join(d.keys, " ")); got != c.want || (err == nil) != (outcome != "") {
					t.Errorf("%q, %v, want %q", got, err, c.want)
				}
				if took := time.Since(began); took > c.limit {
					t.Errorf("it took %s", took)
				}
			})
		})
	}
}

// TestSendWithAStatusBar checks that a status bar is not taken for marks: a text that is also in
// the bar arrives unchanged, as does one next to a changing bar.
func TestSendWithAStatusBar(t *testing.T) {
	for text, footers := range map[string][]string{"2": {"\n  gemini-2.5-pro", "\n  gemini-2.5-pro"}, "do it": {"\n  auto", "\n  gemini-2.5-pro, $0.12"}} {
		synctest.Test(t, func(t *testing.T) {
			d := &desk{now: idle("hello\n"), footer: footers[0]}
			d.enter = func(d *desk, n int) {
				d.footer = footers[1]
				atSecond(d, n, "\n")
			}
			outcome, err := Sender{Runtime: d, Agent: d, Observe: d.observe, BootTimeout: time.Minute}.Send(t.Context(), text, false)
			if want := "hello\n" + text + "\n\n"; err != nil || outcome != Submitted || d.now.Screen != want {
				t.Errorf("%q: %s, %v, screen %q, want %q", text, outcome, err, d.now.Screen, want)
			}
		})
	}
}

// TestSendThatIsCanceled checks that marks are removed from the text on cancellation.
func TestSendThatIsCanceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		d := &desk{now: idle("hello\n"), enter: nothing}
		d.onLook = func(d *desk) {
			if slices.Contains(d.keys, ".") {
				cancel()
			}
		}
		_, err := Sender{Runtime: d, Agent: d, Observe: d.observe, BootTimeout: time.Minute}.Send(ctx, "do it", false)
		if d.read(); err == nil || d.composed != "do it" {
			t.Errorf("%v, composed %q, keys %q", err, d.composed, d.keys)
		}
	})
}

// TestSendToOneThatIsPaused checks that it is known whether a text was typed if the session is
// paused meanwhile.
func TestSendToOneThatIsPaused(t *testing.T) {
	for at, untyped := range map[int]bool{1: true, 2: true, 3: false} { // C-u, the text, a mark or Enter
		synctest.Test(t, func(t *testing.T) {
			d := &desk{now: idle("hello\n"), enter: nothing, pausedAt: at}
			_, err := Sender{Runtime: d, Agent: d, Observe: d.observe, BootTimeout: time.Minute}.Send(t.Context(), "do it", false)
			if _, is := errors.AsType[*PausedError](err); is != untyped || !errors.Is(err, session.ErrRefused) {
				t.Errorf("at key %d: %v, typed nothing: %v, keys %q", at, err, is, d.keys)
			}
		})
	}
}

// TestSendToOneThatLeavesLate checks that a command that ends an agent counts as received even
// during the wait for a mark.
func TestSendToOneThatLeavesLate(t *testing.T) {
	for _, gone := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			d := &desk{now: idle("hello\n"), enter: nothing}
			observe := func(ctx context.Context) (Snapshot, error) {
				if !slices.Contains(d.keys, ".") {
					return d.observe(ctx)
				}
				if gone {
					return Snapshot{}, session.ErrGone
				}
				return Snapshot{Screen: "bye\n", Detection: session.Detection{Activity: session.Exited, Source: "exit"}}, nil
			}
			outcome, err := Sender{Runtime: d, Agent: d, Observe: observe, BootTimeout: time.Minute}.Send(t.Context(), "/exit", true)
			if err != nil || outcome != Submitted || slices.Contains(d.keys, "BSpace") {
				t.Errorf("gone %v: %s, %v, keys %q", gone, outcome, err, d.keys)
			}
		})
	}
}

// TestSendToOneThatBoots checks that Send waits for an agent that is booting, up to a limit, and
// for one that has not taken up its prompt.
func TestSendToOneThatBoots(t *testing.T) {
	for name, c := range map[string]struct {
		does     session.Activity
		prompted bool // with a prompt that it has not taken up
		up       int
		typed    bool
	}{
		"booting":                {session.Booting, false, 8, true},
		"booting for too long":   {session.Booting, false, 1000, false},
		"before its prompt":      {session.Idle, true, 8, true},
		"it works on its prompt": {session.Working, true, 8, true},
		"its prompt is not told": {session.Idle, true, 1000, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			d := &desk{enter: takes, now: Snapshot{Detection: session.Detection{Activity: c.does}}}
			if c.prompted {
				d.now.PromptBy = time.Now().Add(10 * time.Second)
			}
			early := false
			d.onLook = func(d *desk) {
				if d.looks < c.up && d.looks < 50 { // of ten seconds
					early = early || len(d.keys) > 0
				} else if d.looks == c.up {
					d.now.Detection.Activity, d.now.PromptBy = session.Idle, time.Time{}
				}
			}
			_, err := Sender{Runtime: d, Agent: d, Observe: d.observe, BootTimeout: 5 * time.Second}.Send(t.Context(), "do it", false)
			if early || (err == nil) != c.typed || len(d.keys) > 0 != c.typed {
				t.Errorf("%s: %v, typed %q, too early: %v", name, err, d.keys, early)
			}
		})
	}
}

// TestSendThatThePromptReplaces checks that work on the command line's prompt does not confirm a
// text that was typed before it and is lost.
func TestSendThatThePromptReplaces(t *testing.T) {
	for tells, want := range map[bool]bool{true: false, false: true} {
		synctest.Test(t, func(t *testing.T) {
			d := &desk{now: Snapshot{Detection: session.Detection{Activity: session.Idle}, PromptBy: time.Now(), Tells: tells}}
			d.enter = func(d *desk, _ int) {
				d.composed, d.now.Screen, d.now.PromptBy = "", "begin\n", time.Time{}
				d.now.Detection.Activity, d.now.Messages = session.Working, []session.Message{{At: time.Now(), Text: "begin"}}
			}
			_, err := Sender{Runtime: d, Agent: d, Observe: d.observe}.Send(t.Context(), "do it", false)
			var lost *NotTakenError
			if (err == nil) != want || err != nil && !errors.As(err, &lost) {
				t.Errorf("an agent that tells its messages, %v: %v, keys %q", tells, err, d.keys)
			}
		})
	}
}

// TestSendTwice checks that work on an earlier message does not confirm the next, and that a text
// in a hidden queue is not typed again.
func TestSendTwice(t *testing.T) {
	awaited := Snapshot{Screen: "hello\n", Detection: session.Detection{Activity: session.Idle}, Tells: true, Awaited: true, Transcript: &session.Transcript{}}
	begins := func(d *desk) {
		if len(d.keys) > 1 {
			d.now.Detection.Activity = session.Working
		}
	}
	for name, c := range map[string]struct {
		enter  func(*desk, int)
		runs   time.Duration // until it reads typed text
		onLook func(*desk)
		want   string
	}{
		"it begins to work, and reads the text later": {takes, 20 * time.Second, begins, "submitted: C-u text do it"},
		"it begins to work, and Enter breaks the line": {func(d *desk, n int) { atSecond(d, n, "\n") }, 3 * time.Second, begins,
			"submitted: C-u text do it . BSpace Enter"},
		"its queue is drawn late": {func(d *desk, _ int) {
			text, at := d.composed, later(8*time.Second)
			d.composed = ""
			d.now.Screen += "a hint\n"
			d.onLook = func(d *desk) {
				if begins(d); time.Now().After(at) && !strings.Contains(d.now.Screen, text) {
					d.now.Screen += text + "\n"
				}
			}
		}, 0, nil, "submitted: C-u text do it . BSpace"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &desk{enter: c.enter, now: awaited, onLook: c.onLook}
				s := Sender{Runtime: d, Agent: d, Observe: d.observe, BootTimeout: time.Minute}
				s.Typing = func(string, bool) error { d.runs = later(c.runs); return nil }
				outcome, err := s.Send(t.Context(), "do it", false)
				if got := fmt.Sprintf("%s: %s", outcome, strings.Join(d.keys, " ")); err != nil || got != c.want {
					t.Errorf("%q, %v\nwant %q", got, err, c.want)
				}
				if n := strings.Count(d.now.Screen, "do it"); n != 1 || d.composed != "" {
					t.Errorf("it got the text %d times, and has %q in its composer", n, d.composed)
				}
			})
		})
	}
}

// composeless is an agent whose composer is not known.
type composeless struct{ *desk }

func (composeless) Composer(string) (string, bool) { return "", false }

// TestSendToOneThatTellsItsQueue checks that a text is received when the session file has it among
// the queued messages.
func TestSendToOneThatTellsItsQueue(t *testing.T) {
	for queued, want := range map[string]Outcome{"do it": Queued, "another": ""} {
		synctest.Test(t, func(t *testing.T) {
			d := &desk{now: Snapshot{Screen: "busy\n", Detection: session.Detection{Activity: session.Working}, Tells: true, Transcript: &session.Transcript{}}}
			d.enter = func(d *desk, _ int) {
				d.composed, d.now.Screen = "", "busy\nQUEUED\n"
				d.now.Transcript = &session.Transcript{Queued: []session.Message{{At: time.Now(), Text: queued}}}
			}
			got, err := Sender{Runtime: d, Agent: composeless{d}, Observe: d.observe}.Send(t.Context(), "do it", false)
			if got != want || (err == nil) != (want != "") || len(d.keys) != 1 {
				t.Errorf("%q waits: %q, %v, typed %q", queued, got, err, d.keys)
			}
		})
	}
}

// blank is an unknown agent.
type blank struct{ session.Agent }

func TestSendToOneOfWhichNothingIsKnown(t *testing.T) {
	for screen, want := range map[string]Outcome{"": Unverified, "it says something\n": Submitted} {
		synctest.Test(t, func(t *testing.T) {
			d := &desk{enter: func(d *desk, _ int) { d.now.Screen += screen; d.composed = "" }, now: idle("hello\n")}
			got, err := Sender{Runtime: d, Agent: blank{}, Observe: d.observe}.Send(t.Context(), "do it", false)
			if got != want || err != nil || len(d.keys) != 1 {
				t.Errorf("%q: %s, %v, typed %q", screen, got, err, d.keys)
			}
		})
	}
}

// TestSendAfterOneThatWasKilled checks that an unsent text is removed first.
func TestSendAfterOneThatWasKilled(t *testing.T) {
	for unsent, want := range map[bool]string{true: "C-u text do it", false: "text do it"} {
		for name, adapt := range map[string]func(*desk) session.Agent{
			"unknown":   func(*desk) session.Agent { return blank{} },
			"not drawn": func(d *desk) session.Agent { return composeless{d} },
		} {
			synctest.Test(t, func(t *testing.T) {
				d := &desk{enter: takes, now: idle("hello\n"), composed: "do that"}
				d.now.Unsent = unsent
				_, err := Sender{Runtime: d, Agent: adapt(d), Observe: d.observe}.Send(t.Context(), "do it", false)
				if keys := strings.Join(d.keys, " "); err != nil || keys != want {
					t.Errorf("unsent %v, its composer is %s: %v, typed %q, want %q", unsent, name, err, keys, want)
				}
			})
		}
	}
}

// TestPress checks that Enter queues something for a working agent.
func TestPress(t *testing.T) {
	for name, c := range map[string]struct {
		does session.Activity
		in   session.Input
		want Outcome
	}{
		"Enter at work":         {session.Working, session.Input{Key: "Enter"}, Queued},
		"Enter at rest":         {session.Idle, session.Input{Key: "Enter"}, Unverified},
		"Enter for an answer":   {session.Blocked, session.Input{Key: "Enter"}, Unverified},
		"another key at work":   {session.Working, session.Input{Key: "Escape"}, Unverified},
		"a draft while at work": {session.Working, session.Input{Text: "x", NoEnter: true}, Unverified},
	} {
		d := &desk{enter: nothing, now: Snapshot{Detection: session.Detection{Activity: c.does}}}
		got, err := Sender{Runtime: d, Agent: d, Observe: d.observe}.Press(t.Context(), c.in)
		if err != nil || got != c.want || len(d.keys) != 1 {
			t.Errorf("%s: %s, %v, typed %q; want %s", name, got, err, d.keys, c.want)
		}
	}
}

// TestPressDraft checks that Press waits until the agent shows the draft.
func TestPressDraft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{enter: nothing, now: idle("screen\n"), runs: time.Now().Add(3 * time.Second)}
		if _, err := (Sender{Runtime: d, Agent: d, Observe: d.observe}).Press(t.Context(), session.Input{Text: "a draft", NoEnter: true}); err != nil || d.composed != "a draft" {
			t.Errorf("%v, composed %q", err, d.composed)
		}
	})
}

// TestMarks checks that marks are found where agents draw them: after the text, after the cursor,
// and on a row below a line break, even if the text was not there before.
func TestMarks(t *testing.T) {
	for name, c := range map[string]struct {
		before, now string
		want        string
	}{
		"in the status bar":            {"> do it\n  gpt-5", "> do it\n  gpt-5.1, _", ""},
		"the text in the status bar":   {"> do it", "> do it\n  do it.5", ""},
		"behind a paste":               {"> [Pasted 9 lines]\n  gpt-5.1", "> [Pasted 9 lines]\n  .,\n  gpt-5.1", ".,"},
		"beside something":             {"> do it", "> do it.    Context", "."},
		"alone":                        {"> ", "> .", "."},
		"behind the text":              {"> do it", "> do it.", "."},
		"before a cursor of no width":  {"> do it \u200b", "> do it. \u200b", "."},
		"alone, before such a cursor":  {"> ", "> .\u200b", "."},
		"on the next row":              {"> do it", "> do it\n  .", "."},
		"with a text that comes late":  {"> ", "> do it\n  .", "."},
		"the text comes, without it":   {"> ", "> do it\n", ""},
		"on the next row of a frame":   {"┃ > do\n┃ it", "┃ > do\n┃ it.\n┃", "."},
		"several alone":                {"> ", "> .,_", ".,_"},
		"several behind the text":      {"> do it", "> do it.,", ".,"},
		"several on the next row":      {"> do it", "> do it\n  .,_", ".,_"},
		"another text before":          {"> said before", "> ,", ","},
		"the first of them lost":       {"> do it", "> do it,", ","},
		"a text that ends with it":     {"> so.", "> so..", "."},
		"no composer is drawn":         {"> do it", "do it.", ""},
		"what stands above has a mark": {"> do it", "so.\n> do it", ""},
	} {
		before, now := idle(c.before), idle(c.now)
		if got := newDelivery(before, &desk{}, "do it", false).marks(before, now, marks); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
