package agent

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/agentform/agentform/session"
)

// Complete sets the defaults of a spec, from the built-in agent it is based on or named after.
// Programs call it; a manifest's specs are complete.
func Complete(s session.AgentSpec) session.AgentSpec {
	from := session.AgentSpec{
		PromptVia: ViaArgument, ReadyTimeout: session.Duration(30 * time.Second),
		Observable: AtStart, UnobservedFor: session.Duration(24 * time.Hour),
	}
	base := s.Base
	if base == "" && len(s.Command) == 0 {
		base = s.Name
	}
	if built, ok := Builtins()[base]; ok {
		from = built
	}
	if len(s.Command) == 0 {
		s.Command = slices.Clone(from.Command)
	}
	env := maps.Clone(from.Env)
	if env == nil {
		env = s.Env
	} else {
		maps.Copy(env, s.Env)
	}
	s.Env = env
	if len(s.InheritEnv) == 0 {
		s.InheritEnv = slices.Clone(from.InheritEnv)
	}
	s.Base = cmp.Or(s.Base, from.Base)
	s.Permissions = cmp.Or(s.Permissions, from.Permissions)
	s.Trust = s.Trust || from.Trust
	s.PromptVia = cmp.Or(s.PromptVia, from.PromptVia)
	s.Ready = cmp.Or(s.Ready, from.Ready)
	s.ReadyTimeout = cmp.Or(s.ReadyTimeout, from.ReadyTimeout)
	s.StatusBarLines = cmp.Or(s.StatusBarLines, from.StatusBarLines)
	s.Observable = cmp.Or(s.Observable, from.Observable)
	s.UnobservedFor = cmp.Or(s.UnobservedFor, from.UnobservedFor)
	s.OneShot = s.OneShot || from.OneShot
	p, f := &s.Patterns, from.Patterns
	for _, x := range []struct {
		of   *[]string
		from []string
	}{{&p.Done, f.Done}, {&p.Blocked, f.Blocked}, {&p.BlockedAPI, f.BlockedAPI}, {&p.Failed, f.Failed}, {&p.Working, f.Working}, {&p.UI, f.UI}, {&p.ShellPrompt, f.ShellPrompt}} {
		if len(*x.of) == 0 {
			*x.of = slices.Clone(x.from)
		}
	}
	return s
}
