package price_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/agentform/agentform/internal/price"
	"github.com/agentform/agentform/session"
)

func TestBuiltIn(t *testing.T) {
	l := price.BuiltIn()
	if _, err := time.Parse(time.DateOnly, l.Date); err != nil {
		t.Errorf("the list has no date: %v", err)
	}
	for model, p := range l.Models {
		if free := model == "big-pickle" || strings.HasSuffix(model, "-free"); free != (p.Input == 0) || free != (p.Output == 0) || p.Output < p.Input {
			t.Errorf("%s: %+v", model, p)
		}
		if p.CacheRead != nil && *p.CacheRead >= p.Input {
			t.Errorf("%s: what a cache has costs %v, and input %v", model, *p.CacheRead, p.Input)
		}
		below := price.Long{Above: 9999, Rates: p.Rates}
		for _, long := range p.Long {
			if long.Above <= below.Above || long.Input <= below.Input || long.Output <= below.Output {
				t.Errorf("%s: a long prompt costs %+v", model, p.Long)
			}
			below = long
		}
	}
}

func TestCost(t *testing.T) {
	l := price.BuiltIn()
	million := session.Tokens{Input: 1e6, CacheRead: 1e6, CacheWrite: 1e6, CacheWrite1h: 1e6, Output: 1e6, Reasoning: 1e6}
	for _, c := range []struct {
		model  string
		tokens session.Tokens
		prompt int64
		want   float64
	}{
		// https://platform.claude.com/docs/en/about-claude/pricing
		{"claude-opus-4-8", million, 1000, 5 + 0.5 + 6.25 + 10 + 25},
		{"claude-opus-4-5-20251101", million, 1000, 5 + 0.5 + 6.25 + 10 + 25},
		{"claude-opus-4-20250514", session.Tokens{Input: 1e6}, 1000, 15},
		{"claude-haiku-5-5[1m]", million, 100_000, 0.1 + 0.01 + 0.125 + 0.2 + 0.5},
		{"anthropic/claude-haiku-5-5", million, 100_001, 0.5 + 0.05 + 0.625 + 1 + 2.5},
		// https://developers.openai.com/api/docs/pricing
		{"gpt-5", session.Tokens{Input: 2e6, CacheRead: 1e6, Output: 1e6}, 1000, 2.5 + 0.125 + 10},
		{"gpt-5-2025-08-07", session.Tokens{Output: 1e5}, 1000, 1},
		// Without a price of its own, what a cache has costs as much as input.
		{"gpt-5-pro", session.Tokens{CacheRead: 1e6}, 1000, 15},
		// https://ai.google.dev/gemini-api/docs/pricing
		{"gemini-2.5-pro", session.Tokens{Input: 1e6, Output: 1e6}, 200_000, 11.25},
		{"gemini-2.5-pro", session.Tokens{Input: 1e6, Output: 1e6}, 200_001, 17.5},
		// https://www.alibabacloud.com/help/en/model-studio/model-pricing
		{"qwen3-coder-plus", session.Tokens{Input: 1e6, Output: 1e6}, 32_000, 6},
		{"qwen3-coder-plus", session.Tokens{Input: 1e6, Output: 1e6}, 32_001, 10.8},
		{"qwen3-coder-plus", session.Tokens{Input: 1e6, Output: 1e6}, 128_001, 18},
		{"qwen3-coder-plus", session.Tokens{CacheRead: 1e6}, 256_001, 1.2},
		{"qwen3.6-plus", session.Tokens{Input: 1e6, Output: 1e6}, 256_000, 3.5},
		// https://opencode.ai/docs/zen
		{"big-pickle", million, 1000, 0},
	} {
		got, has := l.Cost(c.model, c.tokens, c.prompt)
		if !has || math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %v, %v, want %v", c.model, got, has, c.want)
		}
	}
	for _, model := range []string{"", "gpt", "claude-opus-4-8-turbo", "my-model"} {
		if cost, has := l.Cost(model, million, 1); has || cost != 0 {
			t.Errorf("%q costs %v", model, cost)
		}
	}
}

// Each maker's and gateway's spelling of a name has the price of the plain name.
func TestSpellings(t *testing.T) {
	l := price.List{Models: map[string]price.Price{}}
	plain := []string{"claude-opus-4-1", "claude-opus-4-6", "claude-sonnet-4-5", "gpt-5.1", "gpt-5.6-terra", "gemini-2.5-pro", "qwen3-max", "grok-4.6"}
	for i, name := range plain {
		l.Models[name] = price.Price{Rates: price.Rates{Input: float64(i + 1)}}
	}
	for name, want := range map[string]string{
		// Claude Code
		"claude-sonnet-4-5-20250929":                       "claude-sonnet-4-5",
		"claude-opus-4-6[1m]":                              "claude-opus-4-6",
		"claude-sonnet-4-5@20250929":                       "claude-sonnet-4-5",
		"claude-opus-4-6@default":                          "claude-opus-4-6",
		"anthropic.claude-opus-4-1-20250805-v1:0":          "claude-opus-4-1",
		"us.anthropic.claude-sonnet-4-5-20250929-v1:0":     "claude-sonnet-4-5",
		"us.anthropic.claude-sonnet-4-5-20250929-v1:0[1m]": "claude-sonnet-4-5",
		"global.anthropic.claude-opus-4-6-v1":              "claude-opus-4-6",
		"us-gov.anthropic.claude-opus-4-6-v1":              "claude-opus-4-6",
		"arn:aws:bedrock:us-east-1:123456789012:inference-profile/eu.anthropic.claude-sonnet-4-5-20250929-v1:0": "claude-sonnet-4-5",
		// Codex
		"gpt-5.1":                     "gpt-5.1",
		"openai.gpt-5.6-terra":        "gpt-5.6-terra",
		"global.openai.gpt-5.6-terra": "gpt-5.6-terra",
		// GitHub Copilot CLI
		"claude-sonnet-4.5": "claude-sonnet-4-5",
		"claude-opus-41":    "claude-opus-4-1",
		"gemini-2.5-pro":    "gemini-2.5-pro",
		// opencode
		"anthropic/claude-sonnet-4.5":                      "claude-sonnet-4-5",
		"openrouter/anthropic/claude-opus-4.1":             "claude-opus-4-1",
		"github-copilot/claude-opus-4.6":                   "claude-opus-4-6",
		"google/gemini-2.5-pro":                            "gemini-2.5-pro",
		"x-ai/grok-4.6":                                    "grok-4.6",
		"amazon-bedrock/us.xai.grok-4.6":                   "grok-4.6",
		"google-vertex-anthropic/claude-opus-4-1@20250805": "claude-opus-4-1",
		// Qwen Code
		"qwen3-max-2026-01-23": "qwen3-max",
		// Others, at another price.
		"gpt-5-1":                              "",
		"gemini-2-5-pro":                       "",
		"claude-opus-4-6-fast":                 "",
		"anthropic/claude-sonnet-4.5:free":     "",
		"us.anthropic.claude-sonnet-4-5-turbo": "",
		"arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a1b2c3": "",
	} {
		var of string
		if p, has := l.Of(name); has {
			of = plain[int(p.Input)-1]
		}
		if of != want {
			t.Errorf("%s has the price of %q, want that of %q", name, of, want)
		}
	}

	// A name's own price comes first.
	l.Models["anthropic/claude-sonnet-4.5"] = price.Price{Rates: price.Rates{Input: 100}}
	if p, _ := l.Of("anthropic/claude-sonnet-4.5"); p.Input != 100 {
		t.Errorf("the price of its own is not taken: %+v", p)
	}
}

// What the agents name by default and offer, as they write it into their session files.
func TestModelsOfAgents(t *testing.T) {
	l := price.BuiltIn()
	for agent, names := range map[string]struct{ priced, unpriced string }{
		"claude": {
			"claude-fable-5 claude-haiku-4-5-20251001 claude-mythos-5 claude-opus-4-1-20250805 claude-opus-4-5-20251101 claude-opus-4-8 claude-opus-4-8[1m] claude-opus-5-5 claude-sonnet-4-5-20250929 claude-sonnet-4-6 claude-sonnet-5 " +
				"claude-haiku-4-5@20251001 us.anthropic.claude-haiku-4-5-20251001-v1:0 us.anthropic.claude-opus-4-6-v1 us.anthropic.claude-sonnet-5",
			"<synthetic> claude-opus-4-6-fast", // what no model wrote; another price
		},
		"codex": {
			"gpt-5.5 gpt-5.6-luna gpt-5.6-sol gpt-5.6-terra gpt-6-astra gpt-6-luna gpt-6-sol gpt-6.1-sol gpt-6.1-terra gpt-daybreak-blue-latest gpt-daybreak-red-latest openai.gpt-6.1-sol global.openai.gpt-5.6-terra",
			"codex-auto-review gpt-oss-120b",
		},
		"copilot": {
			"claude-fable-5.1 claude-haiku-4.5 claude-opus-41 claude-opus-4.8 claude-opus-5.5 claude-sonnet-4 claude-sonnet-4.5 claude-sonnet-4.6 claude-sonnet-5 gemini-3.1-pro-preview gemini-3.5-flash gemini-3.6-flash gemini-3.7-flash gemini-3.8-flash " +
				"gpt-4.1 gpt-5-mini gpt-5.3-codex gpt-5.4-nano gpt-5.6-sol gpt-6-sol grok-4.5 grok-4.6 grok-4.7 grok-code-fast-1 kimi-k2.7-code kimi-k3 mai-code-1-flash-picker mai-code-1.1-flash raptor-mini",
			"auto",
		},
		"gemini": {
			"gemini-2.5-flash gemini-2.5-flash-lite gemini-2.5-pro gemini-3-flash-preview gemini-3-pro-preview gemini-3.1-flash-lite gemini-3.1-pro-preview gemini-3.1-pro-preview-customtools gemini-3.5-flash gemini-3.5-flash-lite gemini-3.8-flash",
			"gemma-4-26b-a4b-it gemma-4-31b-it",
		},
		"opencode": {
			"big-pickle mimo-v2.6-flash-free nemotron-3-ultra-free gpt-5 claude-sonnet-4 gemini-3-flash gemini-3.1-pro grok-4.7 kimi-k2.6 qwen3.6-plus qwen3.8-max " +
				"anthropic/claude-opus-5.5 openai/gpt-6-sol x-ai/grok-4.6 moonshotai/kimi-k3 qwen/qwen3-coder-plus us.anthropic.claude-opus-5",
			"deepseek-v4-pro glm-5.3 minimax-m3 qwen/qwen3.8-27b:free",
		},
		"qwen": {
			"qwen3-coder-flash qwen3-coder-plus qwen3-max qwen3-max-2026-01-23 qwen3.5-plus qwen3.6-plus kimi-k2.5",
			"coder-model qwen3-coder qwen3-coder-next deepseek-v4-flash GLM-5.1 MiniMax-M2.7",
		},
	} {
		for _, name := range strings.Fields(names.priced) {
			if _, has := l.Of(name); !has {
				t.Errorf("%s: %s has no price", agent, name)
			}
		}
		for _, name := range strings.Fields(names.unpriced) {
			if p, has := l.Of(name); has {
				t.Errorf("%s: %s has the price %+v", agent, name, p)
			}
		}
	}
}

func TestLong(t *testing.T) {
	const prices = `{"models":[
		{"model": "one", "input": 1, "output": 1, "long": {"above": 200, "input": 2, "output": 2}},
		{"model": "many", "input": 1, "output": 1, "long": [
			{"above": 100, "input": 3, "output": 3},
			{"above": 200, "input": 4, "output": 4},
			{"above": 32, "input": 2, "output": 2}
		]}
	]}`
	l, err := price.Parse([]byte(prices))
	if err != nil {
		t.Fatal(err)
	}
	for model, costs := range map[string]map[int64]float64{
		"one":  {0: 1, 200: 1, 201: 2, 1e6: 2},
		"many": {0: 1, 32: 1, 33: 2, 100: 2, 101: 3, 200: 3, 201: 4, 1e6: 4},
	} {
		for prompt, want := range costs {
			if got, _ := l.Cost(model, session.Tokens{Input: 1e6}, prompt); got != want {
				t.Errorf("%s with a prompt of %d: %v, want %v", model, prompt, got, want)
			}
		}
	}
}

func TestParse(t *testing.T) {
	l, err := price.Parse([]byte(`{"date":"2026-01-01","currency":"USD","models":[{"model":"mine","input":1,"output":2,"cache_write":3}]}`))
	if err != nil {
		t.Fatal(err)
	}
	// The price of an hour is that of five minutes, unless it is said.
	if got, _ := price.BuiltIn().With(l.Models).Cost("mine", session.Tokens{CacheWrite1h: 1e6, CacheRead: 1e6}, 1); got != 4 {
		t.Errorf("it costs %v", got)
	}
	for text, want := range map[string]string{
		`{`:                                    "unexpected EOF",
		`{"models":[{"model":"m","inptu":1}]}`: `unknown field "inptu"`,
		`{"models":[{"input":1}]}`:             "entry 1 of models names no model",
		`{"models":[{"model":"m","input":1,"output":2},{"model":"m"}]}`: "m has two prices",
		`{"models":[{"model":"m","input":-1,"output":2}]}`:              "the price of m: input must be from 0 to 1e+06 USD per million tokens, not -1",
		// Without both it would be free.
		`{"models":[{"model":"m","output":1}]}`:                                                                                      "the price of m: it needs input and output",
		`{"models":[{"model":"m","input":1,"output":2,"long":{"above":1,"input":2}}]}`:                                               "the price of m: long: it needs input and output",
		`{"models":[{"model":"m","input":1,"output":2,"long":{"input":1,"output":2}}]}`:                                              "the price of m: long: above must be at least 1, not 0",
		`{"models":[{"model":"m","input":1,"output":2,"long":{"above":1,"input":1,"output":2,"cache_read":9e9}}]}`:                   "the price of m: long: cache_read must be",
		`{"models":[{"model":"m","input":1,"output":2,"long":[{"above":5,"input":1,"output":2},{"above":5,"input":1,"output":2}]}]}`: "the price of m: long: two are above 5",
		`{"models":[{"model":"m","input":1,"output":2,"long":[{"above":5,"inptu":1,"output":2}]}]}`:                                  `unknown field "inptu"`,
		`{"models":[]}}`:                 "something follows the list",
		`[]`:                             "cannot unmarshal array into Go value of type price.file",
		`{"currency":"EUR","models":[]}`: `the currency must be USD, not "EUR"`,
		`{"models":[{"model":"m","input":1,"output":2,"long":{"above":"much"}}]}`: "cannot unmarshal string",
	} {
		if _, err := price.Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
