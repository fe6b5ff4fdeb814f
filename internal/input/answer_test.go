package input

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentform/agentform/session"
)

// asker is an agent with a dialog that has a cursor.
type asker struct {
	session.Runtime // only Send is used
	session.Agent   // not used
	keys            []string
	q               *session.Question // nil: none is shown
	above           string
	typed           string
	deaf            int // how many keys are lost
	late            int // after how many looks it reads keys; 0: at once
	unread          []session.Input
	glued           bool // it reads all keys at once, and ignores Enter after a text
	spins           bool // it redraws all the time
	hides           bool // it shows dots for a text
	line            bool // it reads a line behind the question
	// chose is the agent's reaction to Enter.
	chose func(a *asker)
	// onLook runs before each observation.
	onLook func(a *asker)
	looks  int
	hidden *session.Question
	// announced means that a hook reports a question that is not shown.
	announced bool
	gone      bool
}

func question(id string) *session.Question {
	return &session.Question{ID: id, Text: "run " + id + "?", Marked: 1, Options: []session.Option{
		{Number: 1, Word: session.Yes, Label: "Yes"}, {Number: 2, Word: session.Always, Label: "Yes, always"}, {Number: 3, Word: session.No, Label: "No"}}}
}

func (a *asker) Send(_ context.Context, _ session.Location, in session.Input) error {
	key := in.Key
	if key == "" {
		key = "text " + in.Text
	}
	a.keys = append(a.keys, key)
	if a.late > 0 {
		a.unread = append(a.unread, in)
		return nil
	}
	a.read(key, in)
	return nil
}

func (a *asker) read(key string, in session.Input) {
	switch {
	case a.deaf > 0:
		a.deaf--
	case in.Text != "":
		a.typed += in.Text
	case in.Key != "" && strings.Contains(marks, in.Key):
		a.typed += in.Key
	case key == "BSpace":
		a.typed = a.typed[:max(0, len(a.typed)-1)]
	case a.q == nil:
	case key == "Down" && a.q.Marked < len(a.q.Options):
		a.q.Marked++
	case key == "Up" && a.q.Marked > 1:
		a.q.Marked--
	case key == "Enter" || key == "Escape":
		a.chose(a)
	}
}

func (a *asker) observe(context.Context) (Snapshot, error) {
	a.looks++
	if a.onLook != nil {
		a.onLook(a)
	}
	if a.late > 0 && a.looks > a.late && len(a.unread) > 0 { // one key for each look
		in := a.unread[0]
		a.unread = a.unread[1:]
		a.read(in.Key, in)
		for before := in; a.glued && len(a.unread) > 0; before = in {
			in, a.unread = a.unread[0], a.unread[1:]
			if in.Key != "Enter" || before.Text == "" {
				a.read(in.Key, in)
			}
		}
	}
	if a.gone {
		return Snapshot{}, session.ErrGone
	}
	typed := a.typed
	if a.hides {
		typed = strings.Repeat("•", len(typed))
	}
	if a.spins {
		typed += strings.Repeat("|", a.looks%2)
	}
	s := Snapshot{Screen: a.above + typed, Detection: session.Detection{Activity: session.Idle}}
	if a.announced {
		s.Detection.Activity = session.Blocked
	}
	if a.line && a.q != nil && typed != "" {
		s.Screen = a.above + fmt.Sprint(*a.q, 0) + " " + typed
		return s, nil
	}
	if a.q != nil {
		q := *a.q
		q.Above, q.Says = a.above, q.Text
		s.Screen += fmt.Sprint(q, q.Marked)
		s.Detection = session.Detection{Activity: session.Blocked, Detail: q.String(), Question: &q}
	}
	return s, nil
}

func closes(a *asker) { a.q = nil }

func TestAnswer(t *testing.T) {
	free := &session.Question{ID: "t", Text: "Which branch?", Free: true}
	mixed := question("m")
	mixed.Free = true
	mixed.Options = append(mixed.Options, session.Option{Number: 4, Label: "Type something.", Text: true})
	line := &session.Question{ID: "l", Text: "Go on?", Options: []session.Option{{Number: 1, Word: session.Yes, Label: "yes", Key: "y"}, {Number: 2, Word: session.No, Label: "no", Key: "n"}}}
	named := &session.Question{ID: "k", Text: "Run it?", Options: []session.Option{{Number: 1, Word: session.Yes, Label: "Allow once", Key: "Enter"},
		{Number: 2, Word: session.Always, Label: "Allow always", Key: "Right Enter"}, {Number: 3, Word: session.No, Label: "Reject", Key: "Escape"}}}
	flickers := func(a *asker) {
		if a.hidden, a.q = a.q, a.hidden; a.looks%4 != 0 && a.q == nil {
			a.hidden, a.q = a.q, a.hidden
		}
	}
	second := func(a *asker) {
		if a.looks == 4 {
			a.q = question("other")
		}
	}
	for name, c := range map[string]struct {
		asker
		reply Reply
		want  string // the answer or the error, then what was typed
	}{
		"yes, and the dialog is seen to listen": {asker{q: question("x"), chose: closes}, Reply{Text: "yes"}, "yes: Down Up Enter"},
		"always":                                {asker{q: question("x"), chose: closes}, Reply{Text: "always"}, "always: Down Enter"},
		"a number":                              {asker{q: question("x"), chose: closes}, Reply{Text: "3"}, "no: Down Down Enter"},
		"a label":                               {asker{q: question("x"), chose: closes}, Reply{Text: "yes, always"}, "always: Down Enter"},
		"keys are lost at first":                {asker{q: question("x"), chose: closes, deaf: 2}, Reply{Text: "always"}, "always: Down Down Down Enter"},
		"Enter is lost":                         {asker{q: question("x"), chose: func(a *asker) { a.chose = closes }}, Reply{Text: "always"}, "always: Down Enter Down Up Enter"},
		"it exits late": {asker{q: question("x"), chose: func(*asker) {}, onLook: func(a *asker) { a.gone = len(a.keys) > 2 }}, Reply{Text: "always"},
			"always: Down Enter Down"},
		"it never listens":                {asker{q: question("x"), chose: closes, deaf: 99}, Reply{Text: "yes"}, "the dialog does not react to keys"},
		"an unknown word":                 {asker{q: question("x")}, Reply{Text: "maybe"}, `"maybe" is not an answer to: run x?`},
		"an unknown number":               {asker{q: question("x")}, Reply{Text: "4"}, `"4" is not an answer to: run x?`},
		"Yes is a word, not a label":      {asker{q: &session.Question{ID: "x", Text: "?", Marked: 1, Options: []session.Option{{Number: 1, Label: "Yes"}, {Number: 2, Label: "No"}}}}, Reply{Text: "Yes"}, `"Yes" is not an answer to: ?`},
		"another question came between":   {asker{q: question("x"), chose: closes, onLook: second}, Reply{Text: "yes"}, "nothing was answered: the agent now asks another question"},
		"another question than was meant": {asker{q: question("x"), chose: closes}, Reply{Text: "yes", Question: "y"}, "nothing was answered: the agent now asks another question"},
		"it is gone before": {asker{q: question("x"), chose: closes, onLook: func(a *asker) {
			if a.looks == 4 {
				a.q = nil
			}
		}}, Reply{Text: "yes"}, "nothing was answered: the question is gone"},
		"it is drawn again meanwhile": {asker{q: question("x"), chose: func(*asker) {}, onLook: flickers}, Reply{Text: "always"}, "the answer was given, and the question is still on the screen"},
		"it is drawn seconds later": {asker{announced: true, chose: func(a *asker) { a.q, a.announced = nil, false }, onLook: func(a *asker) {
			if a.looks == 80 {
				a.q = question("x")
			}
		}}, Reply{Text: "always"}, "always: Down Enter"},
		"no question":        {asker{}, Reply{Text: "yes"}, "the agent asks no question: it is idle"},
		"it stays":           {asker{q: question("x"), chose: func(*asker) {}}, Reply{Text: "yes"}, "the answer was given, and the question is still on the screen"},
		"the same once more": {asker{q: question("x"), chose: func(a *asker) { a.above, a.q = "done\n", question("x") }}, Reply{Text: "always"}, "always, then run x? [yes] [always] [no]: Down Enter"},
		"it draws above before it ends": {asker{q: question("x"), chose: func(a *asker) { a.above, a.looks = "done\n", 0 }, onLook: func(a *asker) {
			if a.above != "" && a.looks > 8 {
				a.q = nil
			}
		}}, Reply{Text: "always"}, "always: Down Enter"},
		"another one next": {asker{q: question("x"), chose: func(a *asker) { a.q = question("y") }}, Reply{Text: "no"}, "no, then run y? [yes] [always] [no]: Down Down Enter"},
		"a text":           {asker{q: free, chose: closes}, Reply{Text: "no"}, "with a text: text no Enter"},
		"a text that is read late, by an agent that draws": {asker{q: free, chose: closes, late: 20, glued: true, spins: true}, Reply{Text: "no"}, "with a text: text no Enter"},
		"a text that is hidden":                            {asker{q: free, chose: closes, hides: true}, Reply{Text: "no"}, "with a text: text no Enter"},
		"a text, and Enter is lost": {asker{q: free, chose: func(a *asker) { a.chose = closes }}, Reply{Text: "no"},
			"with a text: text no Enter . BSpace Enter"},
		"a text, and Enter is read late": {asker{q: free, chose: func(a *asker) {
			a.onLook = func(a *asker) {
				if len(a.keys) > 2 {
					a.q, a.typed = nil, ""
				}
			}
		}}, Reply{Text: "no"}, "with a text: text no Enter . BSpace"},
		"a text that never shows":         {asker{q: free, deaf: 99}, Reply{Text: "no"}, "the dialog does not react to keys"},
		"a text, and the dialog stays up": {asker{q: free, chose: func(*asker) {}}, Reply{Text: "no"}, "the answer was given, and the question is still on the screen"},
		"a text of one's own": {asker{q: mixed, chose: closes}, Reply{Text: "a green one"},
			"with a text: Down Down Down text a green one Enter"},
		"no word is a text":                   {asker{q: mixed, chose: closes}, Reply{Text: "7"}, `"7" is not an answer to: run m?`},
		"a key in a line":                     {asker{q: line, chose: closes}, Reply{Text: "no"}, "no: text n Enter"},
		"a key in a line behind the question": {asker{q: line, line: true, chose: func(a *asker) { a.above, a.typed, a.q = a.above+"y\n", "", nil }}, Reply{Text: "yes"}, "yes: text y Enter"},
		"a key that is shown and has chosen": {asker{q: line, line: true, chose: closes, onLook: func(a *asker) {
			if a.typed != "" && a.looks%3 == 0 {
				a.above, a.typed, a.q = "Go on? y\ndone\n", "", nil
			}
		}}, Reply{Text: "yes"}, "yes: text y"},
		"keys with names": {asker{q: named, spins: true, chose: func(a *asker) { a.q = question("y") }}, Reply{Text: "always"},
			"always, then run y? [yes] [always] [no]: Right Enter"},
		"one key with a name": {asker{q: named, spins: true, chose: func(a *asker) {
			a.onLook = func(a *asker) {
				if a.looks > 20 {
					a.q = nil
				}
			}
		}}, Reply{Text: "no"}, "no: Escape"},
		"several answers":     {asker{q: &session.Question{ID: "x", Text: "Which?", Several: true, Marked: 1, Options: question("x").Options}}, Reply{Text: "1"}, "Which? takes several answers at once"},
		"no answer to a text": {asker{q: free, chose: closes}, Reply{}, `"" is not an answer to: Which branch?`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := c.asker
				if a.q != nil {
					q := *a.q
					a.q = &q
				}
				done, err := Sender{Runtime: &a, Agent: &a, Observe: a.observe}.Answer(t.Context(), c.reply)
				got := done.String()
				if done.Next != nil {
					got += ", then " + done.Next.String()
				}
				got += ": " + strings.Join(a.keys, " ")
				if err != nil {
					got = err.Error()
				}
				if err == nil && got != c.want || err != nil && !strings.HasPrefix(got, c.want) {
					t.Errorf("%q %q\nwant %q", got, a.keys, c.want)
				}
				var still *NotAnsweredError
				for _, key := range a.keys {
					if key == "Enter" && err != nil && !errors.As(err, &still) {
						t.Errorf("it has chosen something: %q", a.keys)
					}
				}
			})
		})
	}
}

// TestAnswerToOneThatIsSlow checks that the intended answer is given, even if keys were pressed
// again before the first was read.
func TestAnswerToOneThatIsSlow(t *testing.T) {
	for want := 1; want <= 6; want++ {
		synctest.Test(t, func(t *testing.T) {
			q := &session.Question{ID: "x", Text: "Which?", Marked: 1}
			for i := range 6 {
				q.Options = append(q.Options, session.Option{Number: i + 1, Label: fmt.Sprint("the ", i)})
			}
			chosen := 0
			a := asker{q: q, late: 50, chose: func(a *asker) { chosen, a.q = a.q.Marked, nil }}
			_, err := Sender{Runtime: &a, Agent: &a, Observe: a.observe}.Answer(t.Context(), Reply{Text: fmt.Sprint(want)})
			if err != nil || chosen != want {
				t.Errorf("chose %d, want %d: %v, typed %q", chosen, want, err, a.keys)
			}
		})
	}
}

// busy is an asker that reads keys in order, each a while after the one before. Its cursor wraps
// around.
type busy struct {
	*asker
	delay func() time.Duration
	free  time.Time // when it has read all keys so far
	due   []time.Time
}

func (b *busy) Send(_ context.Context, _ session.Location, in session.Input) error {
	if now := time.Now(); b.free.Before(now) {
		b.free = now
	}
	b.free = b.free.Add(b.delay())
	b.unread, b.due = append(b.unread, in), append(b.due, b.free)
	b.keys = append(b.keys, in.Key)
	return nil
}

func (b *busy) observe(ctx context.Context) (Snapshot, error) {
	for len(b.due) > 0 && !b.due[0].After(time.Now()) {
		in := b.unread[0]
		b.unread, b.due = b.unread[1:], b.due[1:]
		switch q := b.q; {
		case q != nil && in.Key == "Down" && q.Marked == len(q.Options):
			q.Marked = 1
		case q != nil && in.Key == "Up" && q.Marked == 1:
			q.Marked = len(q.Options)
		default:
			b.read(in.Key, in)
		}
	}
	return b.asker.observe(ctx)
}

// TestAnswerToOneThatIsBusy checks that the intended answer is given, whenever the keys are read.
func TestAnswerToOneThatIsBusy(t *testing.T) {
	answered := 0
	for seed := range uint64(1000) {
		var failure string
		synctest.Test(t, func(t *testing.T) {
			want, chosen := 1+int(seed%3), 0
			a := &asker{q: question("x"), chose: func(a *asker) { chosen, a.q = a.q.Marked, nil }}
			r := rand.New(rand.NewPCG(seed, 1))
			slow := r.Int64N(int64(2 * time.Second))
			b := &busy{asker: a, delay: func() time.Duration { return time.Duration(slow + r.Int64N(slow/4+1)) }}
			_, err := Sender{Runtime: b, Agent: b, Observe: b.observe}.Answer(t.Context(), Reply{Text: fmt.Sprint(want)})
			if chosen == want {
				answered++
			}
			if chosen != want && (err == nil || chosen != 0) {
				failure = fmt.Sprintf("seed %d: chose %d, want %d: %v, typed %q", seed, chosen, want, err, a.keys)
			}
		})
		if failure != "" {
			t.Error(failure)
		}
	}
	if answered < 900 {
		t.Errorf("only %d of 1000 were answered", answered)
	}
}
