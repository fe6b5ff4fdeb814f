//go:build agents

package agenttest_test

import (
	"testing"

	"github.com/agentform/agentform/internal/agenttest"
	"github.com/agentform/agentform/session"
)

func TestClaudeTurn(t *testing.T) {
	t.Parallel()
	lab := agenttest.New(t, "claude")
	run := lab.Start("fix [[delay 1s]] [[tool ask: echo hi > made]] [[text Done here.]]")
	run.Until("it asks", func(l agenttest.Look) bool { return l.Reading.Activity == session.Blocked })
	run.Keys("Enter")
	run.Until("it is idle", func(l agenttest.Look) bool { return l.Reading.Activity == session.Idle })
	run.Keys("C-d")
	run.Keys("C-d")
	run.Until("it left", func(l agenttest.Look) bool { return l.Exit != nil && l.Exit.Code == 0 })
	run.Close()
	lab.UntilNone()
}
