package doctor

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/cmd/internal/preflight"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/session"
)

func (f *findings) agents(ctx context.Context, in Input) {
	specs, installed := in.Manifest.Sessions, in.Installed()
	for _, d := range in.Sessions(specs, session.Warning) {
		f.warn(d.Summary, strings.ReplaceAll(d.Detail, "\n", "; "), "")
	}
	ignored := map[string]bool{} // by report
	for _, s := range specs {
		if why, remedy := in.IgnoresHooks(s); why != "" && !ignored[why] {
			ignored[why] = true
			f.warn(s.Agent.Name, why, remedy)
		}
	}
	if len(specs)+len(installed) == 0 {
		f.warn("agents", "none of "+plaintext.List(agent.Names(), "and")+" is on PATH", "install one, or declare your own: agent \"NAME\" { command = [\"PROGRAM\"] }")
	}
	f.usedAgents(ctx, in, specs)
	for _, name := range installed {
		if slices.ContainsFunc(specs, func(s session.Spec) bool { return s.Agent.Name == name || s.Agent.Base == name }) {
			continue
		}
		root := in.Manifest.Root
		lack, remedy := in.MissingLogin(session.Spec{Agent: agent.Builtins()[name], Workspace: session.Workspace{Path: root, Repo: root}})
		switch {
		case lack == "":
			f.fine(name, "installed")
		case len(specs) > 0:
			f.fine(name, "installed, not logged in, and no session uses it")
		default:
			f.warn(name, "installed, not logged in: "+lack, remedy)
		}
	}
}

// usedAgents reports each agent in use, with its program and version. Sessions reports missing
// programs.
func (f *findings) usedAgents(ctx context.Context, in Input, specs []session.Spec) {
	users := map[string]session.Spec{} // by agent, on this machine if possible
	for _, s := range specs {
		if user, known := users[s.Agent.Name]; !known || user.Runtime.Traits().OwnHome && !s.Runtime.Traits().OwnHome {
			users[s.Agent.Name] = s
		}
	}
	names := slices.Sorted(maps.Keys(users))
	found := make([]findings, len(names))
	var probes sync.WaitGroup
	for i, name := range names {
		probes.Go(func() { found[i].usedAgent(ctx, in, users[name]) })
	}
	probes.Wait()
	*f = append(*f, slices.Concat(found...)...)
}

func (f *findings) usedAgent(ctx context.Context, in Input, s session.Spec) {
	name := s.Agent.Name
	if s.Runtime.Traits().OwnHome {
		f.fine(name, "in a container, whose image is not inspected")
		return
	}
	path, version, err := in.AgentVersion(ctx, s)
	switch tested := agent.Tested(s.Agent); {
	case path == "":
	case errors.Is(err, preflight.ErrSlow):
		f.fine(name, path+"; its version is unknown: "+err.Error())
	case err != nil:
		f.warn(name, path+": "+err.Error(), "sessions start this program: find out why it fails, or install it again")
	case version == "":
		f.fine(name, path)
	case version == tested:
		f.fine(name, version+" ("+path+")")
	default:
		f.fine(name, version+" ("+path+"); agentform is tested with "+tested)
	}
}
