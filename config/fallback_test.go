package config

import (
	"slices"
	"strings"
	"testing"

	"github.com/agentform/agentform/session"
)

// TestFallback checks what fallback reads, and that all that is wrong with it is reported at once, each
// at its place.
func TestFallback(t *testing.T) {
	const agents = `agent "quiet" {
  command    = ["quiet"]
  prompt_via = "none"
}
agent "once" {
  command  = ["once"]
  one_shot = true
}
`
	block := func(limits string) string {
		return "session \"it\" {\nagent = \"claude\"\nbranch = \"b\"\nlimits {\n" + limits + "\n}\n}\n"
	}
	load := func(limits string) ([]string, string) {
		o := write(t, map[string]string{"agentform.hcl": agents + block(limits)})
		m, ds := Load(o)
		var names []string
		if len(m.Sessions) > 0 {
			for _, a := range m.Sessions[0].Limits.Fallback {
				names = append(names, a.Name)
			}
		}
		slices.SortFunc(ds, func(a, b session.Diagnostic) int { return strings.Compare(a.Summary, b.Summary) })
		return names, strings.ReplaceAll(shown(ds), o.Dir, "/here")
	}
	for limits, want := range map[string][]string{
		"on_quota = \"fallback\"\nfallback = [agent.codex, \"gemini\"]":                {"codex", "gemini"},
		"on_quota = \"fallback\"\nfallback = concat([\"gemini\"], [agent.codex.name])": {"gemini", "codex"},
		"on_quota = \"wait\"":                     nil,
		"resume = \"staggered\"\nfallback = null": nil,
	} {
		if got, problems := load(limits); !slices.Equal(got, want) || problems != "" {
			t.Errorf("%s: %q, %s", limits, got, problems)
		}
	}
	_, got := load("on_quota = \"fallback\"\nfallback = [\n\"claude\",\nagent.codex,\n\"codex\",\nagent.codecs,\n\"moon\",\n1,\n\"quiet\",\nagent.once,\n]")
	for _, want := range []string{
		"line 15", "Fallback to the same agent", "line 17", "Fallback listed twice", "line 18", "Reference to undeclared agent",
		"line 19", "Unknown agent", "line 20", "Wrong type", "line 21", "Fallback without a prompt", "line 22", "Fallback of another kind",
	} {
		if strings.Count(got, want) != 1 {
			t.Errorf("%q is there %d times: %s", want, strings.Count(got, want), got)
		}
	}
	o := write(t, map[string]string{"agentform.hcl": strings.Replace(agents+block("on_quota = \"fallback\"\nfallback = [agent.once]"), `agent = "claude"`, `agent = "mine"`, 1) +
		"agent \"mine\" {\ncommand = [\"mine\"]\none_shot = true\n}\n"})
	if _, ds := Load(o); len(ds) != 1 || ds[0].Severity != session.Warning || !strings.Contains(ds[0].Detail, "has no base") {
		t.Errorf("of a custom agent: %s", shown(ds))
	}
	for limits, want := range map[string]string{
		`on_quota = "fallback"`:                           "Missing fallback",
		`fallback = [agent.codex]`:                        "Fallback without effect",
		"on_quota = \"fallback\"\nfallback = agent.codex": "Wrong type",
	} {
		if _, got := load(limits); strings.Count(got, want) != 1 || strings.Count(got, "rror") > 1 {
			t.Errorf("%s: %s", limits, got)
		}
	}
}
