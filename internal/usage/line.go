package usage

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentform/agentform/session"
)

// Line is a line of a session's file.
type Line struct {
	Session session.Address      `json:"session"`
	Agent   string               `json:"agent"`
	Run     string               `json:"run"`
	File    string               `json:"file"`    // the agent's session file; empty: a line about work or an address
	FileID  string               `json:"file_id"` // of fileid.Of
	Read    int64                `json:"read"`    // how many of its bytes were read
	Context session.UsageContext `json:"context,omitzero"`
	// From is the last reset of the session's budgets; zero: never.
	From    time.Time `json:"from,omitzero"`
	Answers []Answer  `json:"answers,omitempty"`
	Worked  []Span    `json:"worked,omitempty"`
}

// Span is a period of an agent's work. In a line it is a text: BEGIN END.
type Span struct{ Begin, End time.Time }

// MarshalText implements encoding.TextMarshaler.
func (s Span) MarshalText() ([]byte, error) {
	b := append(s.Begin.UTC().AppendFormat(nil, time.RFC3339Nano), ' ')
	return s.End.UTC().AppendFormat(b, time.RFC3339Nano), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Span) UnmarshalText(text []byte) error {
	begin, end, _ := strings.Cut(string(text), " ")
	var err error
	if s.Begin, err = time.Parse(time.RFC3339Nano, begin); err == nil {
		s.End, err = time.Parse(time.RFC3339Nano, end)
	}
	return err
}

// Answer is the usage of one answer of a model, or an addition to it. In a line it is a text, which
// is read twice as fast as an object:
//
//	TIME KEYS PROMPT INPUT CACHE_READ CACHE_WRITE CACHE_WRITE_1H OUTPUT REASONING MODEL
//
// KEYS are in hexadecimal, with commas; "-": none, "+": More.
type Answer struct {
	At     time.Time
	Model  string
	Keys   []uint64 // hashes of the names of the answer
	Prompt int64    // tokens that the model read for the whole answer; 0: those of Tokens
	More   bool     // it was already counted as an answer
	Tokens session.Tokens
}

// MarshalText implements encoding.TextMarshaler.
func (a Answer) MarshalText() ([]byte, error) {
	b := a.At.UTC().AppendFormat(make([]byte, 0, 128), time.RFC3339Nano)
	b = append(b, ' ')
	switch {
	case a.More:
		b = append(b, '+')
	case len(a.Keys) == 0:
		b = append(b, '-')
	}
	for i, k := range a.Keys {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendUint(b, k, 16)
	}
	t := a.Tokens
	for _, n := range []int64{a.Prompt, t.Input, t.CacheRead, t.CacheWrite, t.CacheWrite1h, t.Output, t.Reasoning} {
		b = strconv.AppendInt(append(b, ' '), n, 10)
	}
	return append(append(b, ' '), a.Model...), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (a *Answer) UnmarshalText(text []byte) error {
	fields := strings.SplitN(string(text), " ", 10)
	if len(fields) != 10 {
		return fmt.Errorf("%q is not an answer", text)
	}
	var err error
	if a.At, err = time.Parse(time.RFC3339Nano, fields[0]); err != nil {
		return err
	}
	a.More = fields[1] == "+"
	if !a.More && fields[1] != "-" {
		for part := range strings.SplitSeq(fields[1], ",") {
			k, err := strconv.ParseUint(part, 16, 64)
			if err != nil {
				return err
			}
			a.Keys = append(a.Keys, k)
		}
	}
	for i, into := range []*int64{&a.Prompt, &a.Tokens.Input, &a.Tokens.CacheRead, &a.Tokens.CacheWrite, &a.Tokens.CacheWrite1h, &a.Tokens.Output, &a.Tokens.Reasoning} {
		if *into, err = strconv.ParseInt(fields[2+i], 10, 64); err != nil {
			return err
		}
	}
	a.Model = strings.Clone(fields[9])
	return nil
}

func answer(u session.Usage) Answer {
	a := Answer{At: u.At.UTC(), Model: u.Model, More: u.More, Tokens: u.Tokens}
	if u.More {
		a.Prompt = u.Prompt
	} else {
		a.Keys = keysOf(u.Key)
	}
	return a
}

// keysOf returns the hashes that identify an answer: those of its name, and of the part before a
// slash.
func keysOf(name string) []uint64 {
	if name == "" {
		return nil
	}
	all := []uint64{hash(name)}
	if first, _, parts := strings.Cut(name, "/"); parts && first != "" {
		all = append(all, hash(first))
	}
	return all
}

func hash(s string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(s)) // it never fails
	return h.Sum64()
}

func parse(text []byte) (l Line, ok bool) {
	return l, json.Unmarshal(text, &l) == nil && l.Session != ""
}

// keys is a compact set of hashes: there may be millions.
type keys struct {
	sorted []uint64
	recent map[uint64]struct{}
}

const recentKeys = 1 << 12

func (k *keys) add(h uint64) {
	if k.has(h) {
		return
	}
	if k.recent == nil {
		k.recent = map[uint64]struct{}{}
	}
	k.recent[h] = struct{}{}
	if len(k.recent) < recentKeys+len(k.sorted)/4 {
		return
	}
	for h := range k.recent {
		k.sorted = append(k.sorted, h)
	}
	slices.Sort(k.sorted)
	k.sorted = slices.Clip(slices.Compact(k.sorted))
	k.recent = nil
}

func (k *keys) has(h uint64) bool {
	if _, is := k.recent[h]; is {
		return true
	}
	_, is := slices.BinarySearch(k.sorted, h)
	return is
}
