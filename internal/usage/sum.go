package usage

import (
	"time"

	"github.com/agentform/agentform/session"
)

// Slice is a part of a session's usage: what one model took in one run, in a quarter of an
// hour. Days begin at a quarter of an hour in every time zone.
type Slice struct {
	Start time.Time // UTC
	Model string
	Run   string
	Agent string
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
}

// Plus returns the sum of both.
func (s Sum) Plus(t Sum) Sum {
	return Sum{s.Answers + t.Answers, s.Tokens.Plus(t.Tokens), s.Cost + t.Cost, s.Unpriced + t.Unpriced}
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

func (s *Session) add(l Line, price Pricer) {
	s.Address = l.Session
	for _, a := range l.Answers {
		k := Slice{a.At.UTC().Truncate(SliceLength), a.Model, l.Run, l.Agent}
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
