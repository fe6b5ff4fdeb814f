package usage

import (
	"time"

	"github.com/agentform/agentform/session"
)

// Slice is a part of a session's usage: that of one model in one run in a quarter of an hour. Days
// start at a quarter of an hour in every time zone. The agent's work time is in slices without a
// model.
type Slice struct {
	Start time.Time // UTC
	Model string
	Run   string
	Agent string
	// From is the last reset of the session's budgets before the slice; zero: none.
	From time.Time // UTC
}

// SliceLength is how long a Slice is.
const SliceLength = 15 * time.Minute

// Sum is the usage of several answers.
type Sum struct {
	Answers int64
	Tokens  session.Tokens
	Cost    float64 // list price of the tokens that have one, in the currency of the prices
	// Unpriced is the number of tokens of models without a price.
	Unpriced int64
	Worked   time.Duration // as recorded, which is only done for budgets
}

// Any reports whether a model used tokens.
func (s Sum) Any() bool { return s.Answers > 0 || s.Tokens.Total() > 0 }

// Plus returns the sum of both.
func (s Sum) Plus(t Sum) Sum {
	return Sum{s.Answers + t.Answers, s.Tokens.Plus(t.Tokens), s.Cost + t.Cost, s.Unpriced + t.Unpriced, s.Worked + t.Worked}
}

// Pricer returns the list price of a model's tokens. prompt is the number of tokens in the answer's
// prompt, since long prompts may have another price. It returns false if the model has no price.
type Pricer func(model string, t session.Tokens, prompt int64) (float64, bool)

// Session is the usage of a session.
type Session struct {
	ID      string
	Address session.Address // the last one
	Slices  map[Slice]Sum
}

// Total returns the whole usage of the session.
func (s Session) Total() Sum {
	var all Sum
	for _, x := range s.Slices {
		all = all.Plus(x)
	}
	return all
}

// Since returns the usage of the session from a quarter of an hour on, after the last reset of its
// budgets. Zero times and an empty run exclude nothing.
func (s Session) Since(quarter, startedOver time.Time, run string) Sum {
	return s.since(quarter, startedOver, run, false)
}

// Within is Since including the usage before the reset of the budgets.
func (s Session) Within(quarter, startedOver time.Time, run string) Sum {
	return s.since(quarter, startedOver, run, true)
}

func (s Session) since(quarter, startedOver time.Time, run string, before bool) Sum {
	startedOver = startedOver.UTC().Round(0)
	var all Sum
	for k, x := range s.Slices {
		after := !k.Start.Before(quarter)
		if !startedOver.IsZero() && !startedOver.Before(quarter) {
			after = k.From.Equal(startedOver) || before && after
		}
		if after && (run == "" || k.Run == run) {
			all = all.Plus(x)
		}
	}
	return all
}

func (s *Session) add(l Line, price Pricer) {
	s.Address = l.Session
	// Anything read after the reset counts, whatever its time: a clock may have been set back.
	from := l.From.UTC().Round(0)
	for _, w := range l.Worked {
		for at := w.Begin.UTC(); at.Before(w.End); {
			quarter := at.Truncate(SliceLength)
			end := quarter.Add(SliceLength)
			if w.End.Before(end) {
				end = w.End.UTC()
			}
			k := Slice{Start: quarter, Run: l.Run, Agent: l.Agent, From: from}
			s.Slices[k] = s.Slices[k].Plus(Sum{Worked: end.Sub(at)})
			at = end
		}
	}
	for _, a := range l.Answers {
		k := Slice{a.At.UTC().Truncate(SliceLength), a.Model, l.Run, l.Agent, from}
		x := Sum{Tokens: a.Tokens}
		if !a.More {
			x.Answers = 1
		}
		prompt := a.Prompt
		if prompt == 0 {
			prompt = a.Tokens.Prompt()
		}
		if cost, has := price(a.Model, a.Tokens, prompt); has {
			x.Cost = cost
		} else {
			x.Unpriced = a.Tokens.Total()
		}
		s.Slices[k] = s.Slices[k].Plus(x)
	}
}
