package program

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/internal/shim/rundir"
)

// saidLimit bounds what is read from a hook. A text longer than signalLimit is reduced to its short
// members.
const saidLimit = 8 << 20

// notify is the mode that hooks call. args is the run's directory and, for agents that pass it so,
// the JSON; otherwise the JSON comes on standard input. It always exits with 0 and prints nothing
// on standard output, since agents interpret either as an answer, and a hook must not keep an agent
// from its work.
func notify(args []string, stdin io.Reader, at time.Time) int {
	if len(args) == 0 || args[0] == "" {
		fmt.Fprintln(os.Stderr, "usage: agentform-shim notify RUNDIR [JSON]")
		return 0
	}
	said := []byte(args[len(args)-1])
	if len(args) == 1 {
		var err error
		if said, err = io.ReadAll(io.LimitReader(stdin, saidLimit)); err != nil {
			shim.PrintError("read the hook's report: %v", err)
			return 0
		}
	}
	if err := rundir.AppendSignal(args[0], said, at); err != nil {
		shim.PrintError("write the hook's report: %v", err)
	}
	return 0
}
