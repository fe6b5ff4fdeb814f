package modelserver

import (
	"encoding/json"
	"slices"
)

// Usage is how many tokens an answer takes. Each token is in one of the fields, but
// for Reasoning, which is a part of Output.
type Usage struct {
	Input        int64 `json:"input"` // without what a cache had or took
	CacheRead    int64 `json:"cache_read,omitempty"`
	CacheWrite5m int64 `json:"cache_write_5m,omitempty"` // Anthropic alone
	CacheWrite1h int64 `json:"cache_write_1h,omitempty"` // Anthropic alone
	Output       int64 `json:"output"`
	Reasoning    int64 `json:"reasoning,omitempty"`
}

// plainUsage is that of an answer whose script does not say.
var plainUsage = Usage{Input: 1200, Output: 34}

// prompt is all that the model reads.
func (u Usage) prompt() int64 { return u.Input + u.CacheRead + u.CacheWrite5m + u.CacheWrite1h }

func (u Usage) all() int64 { return u.prompt() + u.Output }

// Plus returns the sum.
func (u Usage) Plus(v Usage) Usage {
	return Usage{
		Input: u.Input + v.Input, CacheRead: u.CacheRead + v.CacheRead,
		CacheWrite5m: u.CacheWrite5m + v.CacheWrite5m, CacheWrite1h: u.CacheWrite1h + v.CacheWrite1h,
		Output: u.Output + v.Output, Reasoning: u.Reasoning + v.Reasoning,
	}
}

// Spent is what one answer took that was sent to its end.
type Spent struct {
	Model string
	Side  bool // behind the scenes: no turn of the user's
	// Prompt is the last message of the request, also one that the program made up.
	Prompt string
	// Results is how many results of tools came after it.
	Results int
	Usage
}

// Spent is what the answers took so far, oldest first.
func (s *Server) Spent() []Spent {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.spent)
}

func (s *Server) spend(r Request, u Usage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spent = append(s.spent, Spent{r.Model, r.Side, r.Prompt(), r.Results, u})
}

// usageOf is what the steps that are due say that the answer takes.
func usageOf(due []step) Usage {
	u := plainUsage
	for _, s := range due {
		if s.verb == "usage" {
			u = s.usage
		}
	}
	return u
}

func parseUsage(text string) (u Usage, err error) {
	err = json.Unmarshal([]byte(text), &u)
	return u, err
}
