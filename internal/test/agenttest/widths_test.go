//go:build agents

package agenttest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/agentform/agentform/internal/test/agenttest"
	"github.com/agentform/agentform/session"
)

// What is on a screen besides the present is the same at every width: what was said
// before, and where the lines break.
func init() {
	for _, columns := range []int{80, 120, 200} {
		for agent, all := range map[string][]agenttest.Situation{
			"claude": {
				{Name: "idle", Want: session.Idle, Seen: shows("❯")},
				{Name: "farewell", Prompt: "say [[text Goodbye!]]", Env: quick, Want: session.Failed, Seen: both(shows("API Error: 500"), shows("Goodbye!")),
					Steps: func(r *agenttest.Run) {
						r.Until("a turn", turned)
						r.Type("and [[status 500]]", shows("API Error: 500"))
					}},
				{Name: "errors", Prompt: "go [[status 429]]", Env: quick, Want: session.Failed, Seen: shows("API Error: 401"),
					Steps: func(r *agenttest.Run) {
						r.Until("a limit", shows("Request rejected (429)"))
						r.Type("and [[status 401]]", shows("API Error: 401"))
					}},
				{Name: "asked-in-text", Prompt: "ask [[text Do you want to proceed? It is a long question, so that its lines are broken wherever the terminal ends.\n\n1. Yes\n2. No]]",
					Want: session.Idle, Seen: both(shows("Do you want to proceed?"), told("Stop"), turned)},
				{Name: "resumed", Prompt: "go [[status 500]]", Env: quick, Want: session.Idle, Seen: both(shows("API Error: 500"), shows("No problems found.")),
					Steps: func(r *agenttest.Run) {
						r.Until("an error", both(shows("API Error: 500"), turned))
						r.Type("and [[text No problems found.]]", shows("● No problems found."))
						r.Until("two turns", func(l agenttest.Look) bool { return l.Transcript != nil && l.Transcript.Turns == 2 && idle(l) })
						r.Type("/exit", exited)
					}, Next: resumed},
			},
			"codex": {
				{Name: "idle", Want: session.Idle, Seen: shows("· ")},
				{Name: "farewell", Prompt: "say [[text Goodbye!]]", Want: session.Failed, Seen: shows("■ We’re currently"),
					Steps: func(r *agenttest.Run) {
						r.Until("a turn", turns(1))
						r.Type("and [[status 500]]", shows("■ We’re currently"))
					}},
				{Name: "errors", Prompt: "go [[status 429]]", Want: session.Failed, Seen: shows("■ unexpected status 401"),
					Steps: func(r *agenttest.Run) {
						r.Until("a limit", shows("■ exceeded retry limit"))
						r.Type("and [[status 401]]", shows("■ unexpected status 401"))
					}},
				{Name: "asked-in-text", Prompt: "ask [[text Would you like to run it? It is a long question, so that its lines are broken wherever the terminal ends.]]", Want: session.Idle,
					Seen: both(turns(1), func(l agenttest.Look) bool { return strings.HasPrefix(l.Title, "Ready") })},
				{Name: "resumed", Prompt: "go [[status 429]]", Want: session.Idle, Seen: shows("No problems found."),
					Steps: func(r *agenttest.Run) {
						r.Until("a limit", shows("■ exceeded retry limit"))
						r.Type("and [[text No problems found.]]", shows("• No problems found."))
						r.Until("a turn", func(l agenttest.Look) bool { return idle(l) && l.Transcript != nil && l.Transcript.Turns == 2 })
						r.Press("C-c", exited)
					}, Next: resumed},
			},
			"copilot": {
				{Name: "idle", Want: session.Idle, Seen: shows("Copilot v")},
				{Name: "farewell", Prompt: "say [[text Goodbye!]]", Want: session.Failed, Seen: both(shows("✗ 400"), rests),
					Steps: func(r *agenttest.Run) {
						r.Until("a turn", turned)
						r.Type("and [[status 400]]", shows("✗ 400"))
					}},
				{Name: "errors", Prompt: "go [[status 401]]", Want: session.Failed, Seen: both(shows("✗ 400"), rests),
					Steps: func(r *agenttest.Run) {
						r.Until("a failure", both(shows("✗ Authentication failed"), turned))
						r.Type("and [[status 400]]", shows("✗ 400"))
					}},
				{Name: "asked-in-text", Prompt: "ask [[text Do you want to run this command? It is a long question, so that its lines are broken wherever the terminal ends.\n\n1. Yes\n2. No]]",
					Want: session.Idle, Seen: both(shows("Do you want to run"), turned, rests)},
				{Name: "resumed", Prompt: "go [[status 400]]", Want: session.Idle, Seen: both(shows("✗ 400"), shows("No problems found."), rests),
					Steps: func(r *agenttest.Run) {
						r.Until("an error", both(shows("✗ 400"), turned))
						r.Type("and [[text No problems found.]]", shows("● No problems found."))
						r.Until("two turns", func(l agenttest.Look) bool { return l.Transcript != nil && l.Transcript.Turns == 2 && idle(l) })
						leave(r)
					}, Next: resumed},
			},
			"qwen": {
				{Name: "idle", Want: session.Idle, Seen: both(shows("Type your message"), shows("Qwen Code (v"))},
				{Name: "farewell", Prompt: "say [[text Goodbye!]]", Want: session.Failed, Seen: both(shows("✕ [API Error: "), shows("Goodbye!")),
					Steps: func(r *agenttest.Run) {
						r.Until("a turn", turned)
						r.Type("and [[status 400]]", shows("✕ [API Error: "))
					}},
				{Name: "errors", Prompt: "go [[status 401]]", Want: session.Failed, Seen: shows("400 scripted"),
					Steps: func(r *agenttest.Run) {
						r.Until("a failure", both(shows("401 scripted"), turned))
						r.Type("and [[status 400]]", shows("400 scripted"))
					}},
				{Name: "asked-in-text", Prompt: "ask [[text Do you trust this folder? It is a long question, so that its lines are broken wherever the terminal ends.\n\n1. Yes\n2. No]]",
					Want: session.Idle, Seen: both(shows("Do you trust"), turned, composed)},
				{Name: "resumed", Prompt: "go [[status 400]]", Want: session.Idle, Seen: both(shows("No problems found."), composed),
					Steps: func(r *agenttest.Run) {
						r.Until("an error", both(shows("✕ [API Error: "), turned))
						r.Type("and [[text No problems found.]]", shows("✦ No problems found."))
						r.Until("two turns", func(l agenttest.Look) bool { return l.Transcript != nil && l.Transcript.Turns == 2 && idle(l) })
						leave(r)
					}, Next: resumed},
			},
			"gemini": {
				{Name: "idle", Input: asGemini, Want: session.Idle, Seen: both(shows("Type your message"), shows("Gemini CLI v"))},
				{Name: "farewell", Input: asGemini, Prompt: "say [[text Goodbye!]]", Want: session.Failed, Seen: shows("✕ [API Error: "),
					Steps: func(r *agenttest.Run) {
						// A farewell in the last turn reads as done, so answered does not fit.
						r.Until("a turn", func(l agenttest.Look) bool {
							return l.Transcript != nil && l.Transcript.Turns == 1 && strings.Contains(l.Title, "Ready")
						})
						r.Type("and [[status 400]]", shows("✕ [API Error: "))
					}},
				{Name: "errors", Input: asGemini, Prompt: "go [[limit 2h]]", Want: session.Failed, Seen: shows(`{"error":{"code":401`),
					Steps: func(r *agenttest.Run) {
						r.Until("it asks", shows("1. Keep trying"))
						r.Press("2", shows("✕ [API Error: You have exhausted"))
						r.Type("and [[status 401]]", shows(`{"error":{"code":401`)) // the rest is wrapped
					}},
				{Name: "asked-in-text", Input: asGemini, Prompt: "ask [[text Allow execution of it? It is a long question, so that its lines are broken wherever the terminal ends.]]", Want: session.Idle, Seen: answered(1)},
				{Name: "resumed", Input: asGemini, Prompt: "go [[status 400]]", Want: session.Idle, Seen: both(shows("No problems found."), both(shows("Type your message"), ready)),
					Steps: func(r *agenttest.Run) {
						r.Until("an error", shows("✕ [API Error: "))
						r.Type("and [[text No problems found.]]", shows("✦ No problems found."))
						r.Until("a turn", ready)
						quit(r)
					}, Next: resumed},
			},
		} {
			for _, s := range all {
				// In a narrow terminal these are tried each time. In others they are recorded once
				// for each version of the agent, as TestVersionOfCaptures checks; so is what takes
				// long.
				long := agent == "gemini" && s.Name == "resumed"
				if columns == 120 && s.Name == "idle" || (columns != 80 || long) && os.Getenv(agenttest.Captures) == "" {
					continue
				}
				s.Name = fmt.Sprintf("%s-%d", s.Name, columns)
				s.Before = func(l *agenttest.Lab) { l.Columns = columns }
				situations[agent] = append(situations[agent], s)
			}
		}
	}
	situations["codex"] = append(situations["codex"],
		agenttest.Situation{Name: "login-key", Bare: true, Want: session.Blocked, Seen: shows("API key"),
			Steps: func(r *agenttest.Run) {
				r.Until("it asks", shows("Sign in another way"))
				r.Press("3", func(l agenttest.Look) bool { return !shows("Sign in with Device Code")(l) })
			}},
		agenttest.Situation{Name: "login-field", Bare: true, Want: session.Blocked, Seen: shows("Press enter to save"),
			Steps: func(r *agenttest.Run) {
				r.Until("it asks", shows("Sign in another way"))
				r.Press("3", shows("Use an OpenAI API key"))
				r.Press("1", shows("Press enter to save"))
			}},
		agenttest.Situation{Name: "warnings", Prompt: "go [[text It is made.]]", Want: session.Idle,
			Steps: func(r *agenttest.Run) {
				r.Until("a turn", turns(1))
				r.Press("F2", warned)
			}},
		agenttest.Situation{Name: "warnings-working", Prompt: "go [[text I look.]] [[delay 60s]]", Want: session.Working, Seen: warned,
			Steps: func(r *agenttest.Run) {
				r.Until("it works", shows("esc to interrupt"))
				r.Press("F2", warned)
			}})
	situations["gemini"] = append(situations["gemini"],
		agenttest.Situation{Name: "no-repository", Input: asGemini, Want: session.Idle, Seen: both(shows("Type your message"), shows("Gemini CLI v")),
			Before: func(l *agenttest.Lab) {
				if err := os.RemoveAll(filepath.Join(l.Dir, ".git")); err != nil {
					panic(err)
				}
			}},
		agenttest.Situation{Name: "draft", Input: asGemini, Want: session.Idle, Seen: shows("[Pasted Text:"),
			Steps: func(r *agenttest.Run) {
				r.Until("it is ready", func(agenttest.Look) bool { return r.Ready() })
				r.Paste(strings.Repeat("one line of a text\n", 20))
			}})
}

// warned reports whether Codex shows its warnings.
func warned(l agenttest.Look) bool { return !shows("f2 to view")(l) }

// resumed is a run that goes on with the conversation of one that has left.
func resumed(r *agenttest.Run) *agenttest.Run {
	id := r.Transcript().Conversation
	return r.Lab.Start("", func(in *session.StartInput) { in.Conversation = id })
}
