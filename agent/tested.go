package agent

import "github.com/agentform/agentform/session"

// tested are the versions that the tests run.
var tested = map[string]string{
	Claude: "2.1.197", Codex: "0.169.0", Copilot: "1.0.102", Gemini: "0.61.0", Opencode: "1.18.33", Qwen: "0.15.10",
}

// Tested returns the version of an agent's program that agentform is tested with. It is empty
// for a custom agent.
func Tested(s session.AgentSpec) string { return tested[s.Base] }
