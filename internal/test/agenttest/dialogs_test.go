//go:build agents

package agenttest_test

import (
	"github.com/agentform/agentform/internal/test/agenttest"
	"github.com/agentform/agentform/session"
)

// asked is a look at a question whose answers are read.
func asked(l agenttest.Look) bool { return l.Detection.Question != nil }

// approvalOf is the approval of a command that is longer than a narrow terminal is wide.
const approvalOf = `go [[tool ask: printf '%s\n' one two three four five six seven eight nine ten eleven twelve >numbers.txt && cat numbers.txt]]`

// The dialogs of the agents beyond the first of each kind, and the first ones in a narrow
// terminal, where labels and commands take more than a line.
func init() {
	options := `"options":[{"label":"Red","description":"warm"},{"label":"Blue","description":"cold"}]`
	narrow := func(l *agenttest.Lab) { l.Columns = 60 }
	wrapped := func(l *agenttest.Lab) { l.Columns = 80 }
	const wrappedOf = "go [[tool ask: echo note > note.txt && git add . && git commit -qm note]]"
	marked := func(n int) func(agenttest.Look) bool {
		return func(l agenttest.Look) bool { return asked(l) && l.Detection.Question.Marked == n }
	}
	situations["claude"] = append(situations["claude"],
		agenttest.Situation{Name: "question-two", Want: session.Blocked, Seen: both(shows("Which color?"), asked),
			Prompt: `ask [[tool AskUserQuestion {"questions":[{"question":"Which color?","header":"Color","multiSelect":false,` + options + `},{"question":"Which one?","header":"One","multiSelect":false,` + options + `}]}]]`},
		agenttest.Situation{Name: "question-several", Want: session.Blocked, Seen: both(shows("Which colors?"), asked),
			Prompt: `ask [[tool AskUserQuestion {"questions":[{"question":"Which colors?","header":"Color","multiSelect":true,` + options + `}]}]]`},
		agenttest.Situation{Name: "plan-dialog", Want: session.Blocked, Seen: both(shows("Exit plan mode?"), asked), Prompt: `plan [[tool ExitPlanMode {"plan":"1. Do this"}]]`,
			Input: func(in *session.StartInput) { in.Spec.Args = []string{"--permission-mode", "plan"} }},
		agenttest.Situation{Name: "approval-80", Before: func(l *agenttest.Lab) { l.Columns = 80 }, Want: session.Blocked, Prompt: approvalOf, Seen: both(told("PermissionRequest"), asked)},
		// A label that is wrapped has no blank after its number, and loses the end of its first
		// line when the cursor comes to it.
		agenttest.Situation{Name: "approval-wrapped", Before: wrapped, Want: session.Blocked, Prompt: wrappedOf, Seen: both(told("PermissionRequest"), asked)},
		agenttest.Situation{Name: "approval-wrapped-moved", Before: wrapped, Want: session.Blocked, Prompt: wrappedOf, Seen: both(marked(2), shows("commands i\n")),
			Steps: func(r *agenttest.Run) {
				r.Until("it asks", asked)
				r.Press("Down", marked(2))
			}},
		// It draws its No over the second line of the answer before it: that is no question
		// with answers, since nothing in it refuses.
		agenttest.Situation{Name: "approval-60", Before: narrow, Want: session.Blocked, Prompt: approvalOf, Seen: both(shows("Do you want to proceed?"), told("PermissionRequest"))})
	situations["codex"] = append(situations["codex"],
		agenttest.Situation{Name: "approval-60", Before: narrow, Want: session.Blocked, Prompt: approvalOf, Input: permissions("ask"), Seen: asked})
	situations["qwen"] = append(situations["qwen"],
		agenttest.Situation{Name: "approval-60", Before: narrow, Want: session.Blocked, Prompt: approvalOf, Input: permissions("ask"), Seen: both(told("PermissionRequest"), asked)})
	situations["gemini"] = append(situations["gemini"],
		agenttest.Situation{Name: "approval-edit", Input: asGemini, Want: session.Blocked, Seen: both(shows("Apply this change?"), asked),
			Prompt: `write [[tool write_file {"file_path":"notes.md","content":"hello\n"}]]`},
		agenttest.Situation{Name: "question", Input: asGemini, Want: session.Blocked, Seen: both(shows("Enter a custom value"), asked),
			Prompt: `ask [[tool ask_user {"questions":[{"question":"Which color?","header":"Color","type":"choice",` + options + `}]}]]`},
		agenttest.Situation{Name: "question-text", Input: asGemini, Want: session.Blocked, Seen: both(shows("Enter to submit"), asked),
			Prompt: `ask [[tool ask_user {"questions":[{"question":"Which color?","header":"Color","type":"text"}]}]]`},
		agenttest.Situation{Name: "approval-60", Before: narrow, Input: asGemini, Want: session.Blocked, Prompt: approvalOf, Seen: asked})
}
