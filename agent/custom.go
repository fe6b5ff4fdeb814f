package agent

import "github.com/agentform/agentform/session"

// custom is any other program: its command, the session's arguments, and the
// prompt as the last one. Nothing is known of its screen but what the manifest
// says, and the phrases that all have in common.
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

// anyQuestion finds what a dialog of any agent asks: the program may run one.
func anyQuestion(body []drawn) (text string, asks []drawn) {
	for _, find := range []func([]drawn) (string, []drawn){commandQuestion, toolQuestion, claudeQuestion} {
		if text, asks = find(body); text != "" || len(asks) < len(body) {
			return text, asks
		}
	}
	return "", body
}

// join puts command line parts together in a new slice.
func join(parts ...[]string) []string {
	var argv []string
	for _, p := range parts {
		argv = append(argv, p...)
	}
	return argv
}
