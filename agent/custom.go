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
	}
}

// join puts command line parts together in a new slice.
func join(parts ...[]string) []string {
	var argv []string
	for _, p := range parts {
		argv = append(argv, p...)
	}
	return argv
}
