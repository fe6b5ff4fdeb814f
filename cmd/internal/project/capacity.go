package project

// An agent's needs, to estimate how many fit on a machine. An idle one is mostly waiting, so four
// share a core; the largest (Gemini CLI, 130 MB and a child of 283 MB) keeps about 400 MB.
const (
	agentsPerCore = 4
	agentMemory   = 400 << 20
)

// agentsFor returns how many agents the cores and the memory can support, at least one.
func agentsFor(cores int, memory uint64) int {
	n := agentsPerCore * cores
	if memory > 0 {
		n = min(n, int(memory/agentMemory))
	}
	return max(n, 1)
}
