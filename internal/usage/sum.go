package usage

import (
	"time"

	"github.com/agentform/agentform/session"
)

// Slice is a part of a session's usage: what one model took in one run, in a quarter of an
// hour. Days begin at a quarter of an hour in every time zone. The time in which the agent
// worked is in slices without a model.
type Slice struct {
	Start time.Time // UTC
	Model string
	Run   string
	Agent string
	// From is when the budgets of the session had last started over; zero: never.
	From time.Time // UTC
}

// SliceLength is how long a Slice is.
const SliceLength = 15 * time.Minute

// Sum is what answers took together.
type Sum struct {
	Answers int64
	Tokens  session.Tokens
	Cost    float64 // list price of those that have a price, in the currency of the prices
	// Unpriced is how many of the tokens are of models without a price.
	Unpriced int64
	Worked   time.Duration // as far as it was recorded: only budgets need it
}

// Any reports whether a model took tokens.
func (s Sum) Any() bool { return s.Answers > 0 || s.Tokens.Total() > 0 }

// Plus returns the sum of both.
func (s Sum) Plus(t Sum) Sum {
	return Sum{s.Answers + t.Answers, s.Tokens.Plus(t.Tokens), s.Cost + t.Cost, s.Unpriced + t.Unpriced, s.Worked + t.Worked}
}

// Pricer returns the list price of tokens of a model. prompt is how many tokens the model
// read for the answer, as long prompts may have another price. It returns false if the
// model has no price.
type Pricer func(model string, t session.Tokens, prompt int64) (float64, bool)

// Session is what a session used.
type Session struct {
	ID      string
	Address session.Address // the last that it had
	Slices  map[Slice]Sum
}

// Total returns all that the session used.
func (s Session) Total() Sum {
	var all Sum
	for _, x := range s.Slices {
		all = all.Plus(x)
	}
	return all
}

// Since returns what the session used from a quarter of an hour on, and after its budgets
// last started over. The zero times, and an empty run, leave nothing out.
func (s Session) Since(quarter, startedOver time.Time, run string) Sum {
	return s.since(quarter, startedOver, run, false)
}

// Within is Since with what the session used before its budgets started over.
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
	// What is read after the budgets started over counts, whatever its time: a clock may
	// have been set back.
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
