package sessiontest_test

import (
	"context"
	"fmt"
	"time"

	"github.com/agentform/agentform"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/session/sessiontest"
)

// A program that launches sessions is tested without tmux: the script says what
// the agent does, and the runtime tells afterwards what was done with it.
func ExampleScripted() {
	rt := sessiontest.New("")
	rt.Script("api",
		sessiontest.Step{Activity: session.Working, Screen: "reading"},
		sessiontest.Step{After: time.Hour, Activity: session.Done, Screen: "all tasks completed"})
	l := agentform.Launcher{Runtime: rt, Agents: map[string]session.Agent{"claude": sessiontest.Agent{}}}

	s, err := l.Launch(context.Background(), "api", session.Spec{Agent: session.AgentSpec{Name: "claude"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := s.Send(context.Background(), "write the tests"); err != nil {
		fmt.Println(err)
	}
	if err := rt.Clock.Sleep(context.Background(), time.Hour); err != nil { // no wait
		fmt.Println(err)
	}
	o, err := s.Observe(context.Background())
	fmt.Println(o.Status, err)

	fmt.Println(s.Stop(context.Background()))
	state, _ := rt.Last("api") // it is gone, and how it was is known
	fmt.Println(state.Launches, state.Sent[0].Text, rt.Clock.Slept())
	// Output:
	// done <nil>
	// <nil>
	// 1 write the tests 1h0m0s
}
