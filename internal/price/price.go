// Package price computes what a model's tokens cost by a list of prices.
//
// The list of list.json has the list prices that the providers published, with their
// date. What a provider bills can differ: by discounts, subscriptions, regions and tiers.
package price

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/agentform/agentform/session"
)

// Rates are prices in USD of a million tokens.
type Rates struct {
	Input  float64 `json:"input"`
	Output float64 `json:"output"`
	// CacheRead, CacheWrite and CacheWrite1h are those of Input, if they are nil.
	CacheRead    *float64 `json:"cache_read,omitempty"`
	CacheWrite   *float64 `json:"cache_write,omitempty"`
	CacheWrite1h *float64 `json:"cache_write_1h,omitempty"`
}

func (r Rates) cost(t session.Tokens) float64 {
	or := func(rate *float64) float64 {
		if rate == nil {
			return r.Input
		}
		return *rate
	}
	write := or(r.CacheWrite)
	long := write
	if r.CacheWrite1h != nil {
		long = *r.CacheWrite1h
	}
	return (float64(t.Input)*r.Input + float64(t.Output)*r.Output + float64(t.CacheRead)*or(r.CacheRead) +
		float64(t.CacheWrite)*write + float64(t.CacheWrite1h)*long) / 1e6
}

func (r Rates) check() error {
	for name, rate := range map[string]*float64{"input": &r.Input, "output": &r.Output, "cache_read": r.CacheRead, "cache_write": r.CacheWrite, "cache_write_1h": r.CacheWrite1h} {
		if rate != nil && (*rate < 0 || *rate > Most || math.IsNaN(*rate)) {
			return fmt.Errorf("%s must be from 0 to %g USD per million tokens, not %g", name, float64(Most), *rate)
		}
	}
	return nil
}

// Most is the highest accepted price of a million tokens, in USD.
const Most = 1e6

// Price is what tokens of a model cost.
type Price struct {
	Rates
	// Long are the rates of long prompts, in any order, no two above the same.
	Long []Long `json:"long,omitempty"`
}

// Long are the rates of an answer for which the model read more than Above tokens.
type Long struct {
	Above int64 `json:"above"`
	Rates
}

// Cost returns the price in USD of tokens of one answer, for which the model read prompt
// tokens.
func (p Price) Cost(t session.Tokens, prompt int64) float64 {
	rates, above := p.Rates, int64(0)
	for _, long := range p.Long {
		if prompt > long.Above && long.Above > above {
			rates, above = long.Rates, long.Above
		}
	}
	return rates.cost(t)
}

// List has the prices of models by name.
type List struct {
	Date   string // of the list that is built in: YYYY-MM-DD
	Models map[string]Price
}

//go:embed list.json
var builtIn []byte

// BuiltIn returns the list of prices that agentform has.
var BuiltIn = sync.OnceValue(func() List {
	l, err := Parse(builtIn)
	if err != nil {
		panic(fmt.Sprintf("list.json: %v", err)) // a test reads it
	}
	return l
})

// file is a list of prices as JSON.
type file struct {
	Date     string   `json:"date"`
	Currency string   `json:"currency"`
	Sources  []string `json:"sources"`
	Models   []struct {
		Model string `json:"model"`
		rates
		Long longs `json:"long"`
	} `json:"models"`
}

// longs are the rates of long prompts as JSON: one object or a list of them.
type longs []struct {
	Above int64 `json:"above"`
	rates
}

func (l *longs) UnmarshalJSON(text []byte) error {
	if text[0] == '{' {
		text = slices.Concat([]byte("["), text, []byte("]"))
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	type list longs // without this method
	return d.Decode((*list)(l))
}

func (l longs) read() ([]Long, error) {
	var all []Long
	for _, long := range l {
		rates, err := long.rates.read()
		switch {
		case err != nil:
			return nil, err
		case long.Above < 1:
			return nil, fmt.Errorf("above must be at least 1, not %d", long.Above)
		case slices.ContainsFunc(all, func(other Long) bool { return other.Above == long.Above }):
			return nil, fmt.Errorf("two are above %d", long.Above)
		}
		all = append(all, Long{long.Above, rates})
	}
	return all, nil
}

// rates are Rates whose input and output may be missing.
type rates struct {
	Input        *float64 `json:"input"`
	Output       *float64 `json:"output"`
	CacheRead    *float64 `json:"cache_read"`
	CacheWrite   *float64 `json:"cache_write"`
	CacheWrite1h *float64 `json:"cache_write_1h"`
}

func (r rates) read() (Rates, error) {
	if r.Input == nil || r.Output == nil {
		return Rates{}, errors.New("it needs input and output")
	}
	all := Rates{*r.Input, *r.Output, r.CacheRead, r.CacheWrite, r.CacheWrite1h}
	return all, all.check()
}

// Parse reads a list of prices as JSON: {"date": "YYYY-MM-DD", "models": [{"model": NAME,
// "input": 1.25, "output": 10, …}]}. The error names the model.
func Parse(text []byte) (List, error) {
	var in file
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil {
		return List{}, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return List{}, errors.New("something follows the list")
	}
	if in.Currency != "" && in.Currency != "USD" {
		return List{}, fmt.Errorf("the currency must be USD, not %q", in.Currency)
	}
	l := List{Date: in.Date, Models: map[string]Price{}}
	for i, m := range in.Models {
		if m.Model == "" {
			return List{}, fmt.Errorf("entry %d of models names no model", i+1)
		}
		if _, twice := l.Models[m.Model]; twice {
			return List{}, fmt.Errorf("%s has two prices", m.Model)
		}
		var p Price
		var err error
		if p.Rates, err = m.read(); err == nil {
			if p.Long, err = m.Long.read(); err != nil {
				err = fmt.Errorf("long: %w", err)
			}
		}
		if err != nil {
			return List{}, fmt.Errorf("the price of %s: %w", m.Model, err)
		}
		l.Models[m.Model] = p
	}
	return l, nil
}

// With returns the list with other prices put over its own.
func (l List) With(over map[string]Price) List {
	l.Models = maps.Clone(l.Models)
	maps.Copy(l.Models, over)
	return l
}

var (
	contextSize = regexp.MustCompile(`\[\w+\]$`)
	revision    = regexp.MustCompile(`-v\d+(:\d+)?$`)
	dated       = regexp.MustCompile(`([-@]20\d\d-?\d\d-?\d\d|@default)$`)
	maker       = regexp.MustCompile(`^([a-z-]+\.)?(anthropic|moonshotai|openai|xai)\.`)
	copilot     = strings.NewReplacer(".", "-", "opus-41", "opus-4-1")
)

// plainer has what leads from a name as agents and gateways spell it to the plain one of
// the list, each rule applied to what the one before it left.
var plainer = []func(string) string{
	func(s string) string { return s },
	// Claude Code: claude-opus-4-8[1m]. https://code.claude.com/docs/en/model-config
	func(s string) string { return contextSize.ReplaceAllString(s, "") },
	// Bedrock: claude-sonnet-4-5-20250929-v1:0.
	// https://docs.aws.amazon.com/bedrock/latest/userguide/models-supported.html
	func(s string) string { return revision.ReplaceAllString(s, "") },
	// The makers: gpt-5-2025-08-07; Vertex: claude-sonnet-4-5@20250929, claude-opus-4-8@default.
	// https://cloud.google.com/vertex-ai/generative-ai/docs/partner-models/claude
	func(s string) string { return dated.ReplaceAllString(s, "") },
	// OpenRouter: anthropic/claude-sonnet-4.5; opencode: github-copilot/gpt-5.5; ARNs of
	// inference profiles. https://openrouter.ai/models, https://opencode.ai/docs/models
	func(s string) string { return s[strings.LastIndex(s, "/")+1:] },
	// Bedrock: anthropic.claude-opus-4-8, or with a region, us.anthropic.claude-opus-4-8.
	// https://docs.aws.amazon.com/bedrock/latest/userguide/inference-profiles-support.html
	func(s string) string { return maker.ReplaceAllString(s, "") },
	// Copilot and OpenRouter: claude-sonnet-4.5, where Anthropic has claude-sonnet-4-5. The
	// names of other makers have dots. https://docs.github.com/en/copilot/reference/ai-models/supported-models
	func(s string) string {
		if strings.HasPrefix(s, "claude-") {
			return copilot.Replace(s)
		}
		return s
	},
}

// Of returns the price of a model. A name that has no price of its own has that of the
// plain name. It returns false for a model without a price.
func (l List) Of(model string) (Price, bool) {
	for _, rule := range plainer {
		model = rule(model)
		if p, has := l.Models[model]; has {
			return p, true
		}
	}
	return Price{}, false
}

// Cost is a usage.Pricer.
func (l List) Cost(model string, t session.Tokens, prompt int64) (float64, bool) {
	p, has := l.Of(model)
	if !has {
		return 0, false
	}
	return p.Cost(t, prompt), true
}
