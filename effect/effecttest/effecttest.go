// Package effecttest carries effects out on a scripted runtime: programs of
// package effect are tested with it in no time, and without tmux.
package effecttest

import (
	"github.com/agentform/agentform"
	"github.com/agentform/agentform/effect"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/session/sessiontest"
)

// New is a handler on a scripted runtime, in which time passes by Sleep effects
// and without a wait. Only an Answer takes half a second, and inside testing/synctest
// none. Every agent is a sessiontest.Agent, whatever its name.
// What sessions do is said by Scripted.Script, what was typed and how long was
// slept is known by Scripted.State and Scripted.Slept.
func New(rt *sessiontest.Scripted) effect.Handler {
	return effect.New(&agentform.Launcher{
		Runtime: rt, Now: rt.Clock.Now, Facts: rt.Facts,
		Adapt: func(session.AgentSpec) session.Agent { return sessiontest.Agent{} },
	}).SleepBy(rt.Clock.Sleep)
}
