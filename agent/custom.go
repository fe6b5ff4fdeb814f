package agent

import "github.com/agentform/agentform/session"

// custom is any other program: its command, the session's arguments, and the prompt as the last
// argument. Its screen is read by the manifest's patterns and the common phrases.
func custom() kind {
	return kind{
		start: func(in session.StartInput) session.Start {
			argv := join(in.Spec.Agent.Command, in.Spec.Args)
			if in.Prompt != "" {
				argv = append(argv, in.Prompt)
			}
			return session.Start{Argv: argv}
		},
		marks: marks{question: anyQuestion, chosen: claude().marks.chosen, sent: copilot().marks.sent},
	}
}

// anyQuestion finds the question in a dialog of any agent, since the program may run one.
func anyQuestion(body []drawn) (text string, asks []drawn) {
	for _, find := range []func([]drawn) (string, []drawn){commandQuestion, toolQuestion, claudeQuestion} {
		if text, asks = find(body); text != "" || len(asks) < len(body) {
			return text, asks
		}
	}
	return "", body
}

// join concatenates parts of a command line in a new slice.
func join(parts ...[]string) []string {
	var argv []string
	for _, p := range parts {
		argv = append(argv, p...)
	}
	return argv
}
