package tmux

import (
	"os/exec"
	"testing"

	"github.com/agentform/agentform/internal/shim/rundir"
	"github.com/agentform/agentform/internal/tmuxwire"
	"github.com/agentform/agentform/session"
)

func TestJudge(t *testing.T) {
	zero := &rundir.Exit{Cause: rundir.CauseSelf}
	three := &rundir.Exit{Cause: rundir.CauseSelf, Code: 3}
	for name, c := range map[string]struct {
		e    evidence
		want session.Liveness
		exit *rundir.Exit
	}{
		"runs":                                   {evidence{paneUp: true, claimed: true, shim: true, started: true, agent: true}, session.Alive, nil},
		"the shim has yet to claim":              {evidence{paneUp: true}, session.Alive, nil},
		"the shim has yet to start the agent":    {evidence{paneUp: true, claimed: true, shim: true}, session.Alive, nil},
		"left, and tmux agrees":                  {evidence{gone: true, reaped: true, claimed: true, started: true, exit: three}, session.Dead, three},
		"left, and the shim is about to":         {evidence{paneUp: true, claimed: true, shim: true, started: true, exit: three}, session.Dead, three},
		"left with 0, and tmux agrees":           {evidence{gone: true, reaped: true, clean: true, claimed: true, started: true, exit: zero}, session.Dead, zero},
		"left with 0, and tmux says otherwise":   {evidence{gone: true, reaped: true, claimed: true, started: true, exit: zero}, session.Dead, &rundir.Exit{Code: 1}},
		"left with 0, and tmux does not know":    {evidence{claimed: true, started: true, exit: zero}, session.Dead, zero},
		"an exit is forged while it runs":        {evidence{paneUp: true, claimed: true, shim: true, started: true, agent: true, exit: zero}, session.Unknown, nil},
		"the shim was killed":                    {evidence{gone: true, reaped: true, claimed: true, started: true}, session.Dead, nil},
		"the shim is about to say how":           {evidence{gone: true, reaped: true, claimed: true, shim: true, started: true}, session.Unknown, nil},
		"the pane looks dead, the agent runs":    {evidence{claimed: true, shim: true, started: true, agent: true}, session.Unknown, nil},
		"the shim is gone, the agent runs":       {evidence{gone: true, reaped: true, claimed: true, started: true, agent: true}, session.Unknown, nil},
		"the pane alone says dead":               {evidence{claimed: true, shim: true}, session.Unknown, nil},
		"dead without a status, nothing else":    {evidence{}, session.Unknown, nil},
		"the shim could not be started":          {evidence{gone: true, reaped: true}, session.Dead, nil},
		"no run directory, and tmux is late":     {evidence{gone: true}, session.Dead, nil},
		"the agent is gone, no exit yet":         {evidence{paneUp: true, claimed: true, shim: true, started: true}, session.Unknown, nil},
		"someone else's process is in the pane":  {evidence{paneUp: true, claimed: true, started: true}, session.Unknown, nil},
		"claimed by a shim that is gone, no run": {evidence{paneUp: true, claimed: true}, session.Unknown, nil},
	} {
		got, exit := judge(c.e)
		if got != c.want || (exit == nil) != (c.exit == nil) || exit != nil && exit.Code != c.exit.Code {
			t.Errorf("%s: %s, exit %+v; want %s, %+v", name, got, exit, c.want, c.exit)
		}
	}
}

// TestPaneOfAnEndedProcess checks that a pane is dead as soon as its process has ended, even if
// tmux shows it alive and the run's directory does not exist.
func TestPaneOfAnEndedProcess(t *testing.T) {
	c := exec.Command("sh", "-c", "read line")
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	p := pane{Pane: tmuxwire.Pane{PID: c.Process.Pid}}
	if got, _ := judge(gather(p, rundir.Facts{})); got != session.Alive {
		t.Errorf("its process runs: %s", got)
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait() // it fails when its input ends
	if got, _ := judge(gather(p, rundir.Facts{})); got != session.Dead {
		t.Errorf("its process has ended: %s", got)
	}
}
