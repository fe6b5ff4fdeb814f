//go:build agents

package agenttest_test

import (
	"os"
	"strings"

	"github.com/agentform/agentform/internal/test/agenttest"
	"github.com/agentform/agentform/session"
)

// pasted are error messages of each agent's own, with its marks, as a person copies them
// from its screen: the end of a turn, a limit, a retry.
var pasted = map[string]string{
	"claude":   "● API Error: 500 internal server error. If it persists, check your gateway.\n\n✻ API error · Retrying in 5s · attempt 2/10\n\nAPI Error: Request rejected (429)",
	"codex":    "■ exceeded retry limit, last status: 429 Too Many Requests\n\n• Server is busy, reconnecting 1/5\n\n■ You’ve hit your usage limit. Try again at 8:31 AM.",
	"copilot":  "✗ 400 bad request\n\n✗ Rate limit exceeded, HTTP 429",
	"gemini":   "✕ [API Error: You have exhausted your daily quota on this model.]\n\nUsage limit reached for all Pro models.\n\n✕ [API Error: {\"error\":{\"code\":401}}]",
	"opencode": "unauthorized\n\n⬝⬝⬝⬝■■■ too many requests [retrying in 5s attempt #2]",
	"qwen":     "✕ [API Error: 429 too many requests] (Press Ctrl+Y to retry)\n\n✕ [API Error: 401 unauthorized]",
}

// aboutPasted returns a prompt about an error message that a person has pasted, and the script of
// its answer.
func aboutPasted(agent, script string) string {
	return "why does it say this?\n\n" + pasted[agent] + "\n\nI saw it today " + script
}

// What a person has pasted is no sign of the agent's. These are recorded, and not tried each
// time.
func init() {
	if os.Getenv(agenttest.Captures) == "" {
		return
	}
	for agent, ended := range map[string]func(agenttest.Look) bool{
		"claude": both(turned, told("Stop")), "codex": turns(1), "copilot": both(turned, rests), "gemini": ready, "qwen": both(turned, composed),
	} {
		for _, s := range []agenttest.Situation{
			{Name: "pasted", Prompt: aboutPasted(agent, "[[text It was busy.]]"), Want: session.Idle, Seen: both(shows("It was busy."), ended)},
			{Name: "pasted-working", Prompt: aboutPasted(agent, "[[delay 90s]]"), Want: session.Working, Seen: shows("I saw it today")},
		} {
			if agent == "gemini" {
				s.Input = asGemini
			}
			situations[agent] = append(situations[agent], s)
		}
	}
}

// ready is a look at Gemini CLI after a turn.
func ready(l agenttest.Look) bool { return strings.Contains(l.Title, "Ready") }
