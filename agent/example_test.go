package agent_test

import (
	"fmt"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/session"
)

// For gives the adapter of an agent: the built-in one of its name or base, and a
// custom one for every other command.
func ExampleFor() {
	spec := agent.Builtins()["claude"]
	spec.Permissions = "edits"
	start := agent.For(spec).Start(session.StartInput{Spec: session.Spec{Agent: spec}, Prompt: "write the tests"})
	fmt.Println(start.Argv[0], start.Argv[len(start.Argv)-1])

	own := agent.For(session.AgentSpec{Name: "lint", Command: []string{"make", "lint"}, Patterns: session.Patterns{Blocked: []string{"retry\\?"}}})
	detection := own.Detect(session.Evidence{Liveness: session.Alive, Screen: "3 faults found\nretry? [y/N]"})
	fmt.Println(detection.Activity, "-", detection.Detail)
	// Output:
	// claude write the tests
	// blocked - retry? [y/N]
}
