package doctor

import (
	"context"
	"maps"
	"slices"

	"github.com/agentform/agentform/internal/layout"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// orphans examines every tmux server and container engine in use.
func (f *findings) orphans(ctx context.Context, in Input, st state.State) {
	engines := map[string]session.RuntimeSpec{"tmux": {Kind: "tmux"}}
	for _, s := range in.Manifest.Sessions {
		engines[s.Runtime.Engine()] = s.Runtime
	}
	for _, r := range st.Sessions {
		engines[r.Spec.Runtime.Engine()] = r.Spec.Runtime
	}
	for _, name := range slices.Sorted(maps.Keys(engines)) {
		f.engine(ctx, in, st, name, engines[name])
	}
}

func (f *findings) engine(ctx context.Context, in Input, st state.State, name string, spec session.RuntimeSpec) {
	subject, remedy := name, "inspect manually; sessions that cannot be inspected are not changed"
	_, installed := in.Environ.Program(spec.Kind, in.Dir)
	switch server := spec.Traits().Server; {
	case server != "":
		if !installed {
			return // program reports it
		}
		subject = server + "s"
		if spec.Socket != "" {
			subject = server + " " + spec.Socket
		}
	case spec.Kind == "docker":
		if !installed {
			f.warn("docker command", "not on PATH", "attach and exec need it for containers: install it (docker.io, docker-ce-cli, brew install docker); everything else works without it")
		}
		remedy = "check with: " + plaintext.ShellWords(append(spec.Docker.Client(), "version")...) + "; until then sessions in containers are unknown and not changed"
	}
	r, err := in.Reconciler.Opened(st.Lineage, spec)
	if err != nil {
		return // dataDir reports it
	}
	lives, err := r.Observe(ctx, false)
	if err != nil {
		f.fault(subject, err.Error(), remedy)
		return
	}
	lives = slices.DeleteFunc(lives, func(l session.Live) bool { return !managed(l, in.Manifest.DataDir) })
	runs, ids := map[string]bool{}, map[string]bool{}
	for _, r := range st.Sessions {
		runs[r.Run.ID], ids[r.ID] = true, true
	}
	orphans := 0
	for _, l := range lives {
		if l.Foreign || l.Copied || !runs[l.Mark.Run] && (l.Mark.Run != "" || !ids[l.Mark.ID]) {
			orphans++
			f.orphan(l, st.Lineage)
		}
	}
	if h, is := r.(session.LeftoverLister); is {
		left, err := h.Leftovers(ctx)
		if err != nil {
			f.fault(subject, err.Error(), remedy)
		}
		for _, c := range left {
			f.warn("container "+c.Name, c.String(), "")
		}
	}
	if orphans == 0 {
		f.fine(subject, plaintext.Count(len(lives), "session")+", no orphans")
	}
}

// managed separates the containers of projects that share an engine.
func managed(l session.Live, dataDir string) bool {
	if l.Mark.Project == "" {
		return false
	}
	if t := l.Location.Traits(); !t.HostFiles { // only its own project's sessions are known there
		return !l.Foreign
	}
	return l.Location.Container == "" || exists(layout.Data{Dir: dataDir}.Container(l.Mark.ID).Dir)
}

func (f *findings) orphan(l session.Live, lineage string) {
	name := l.Location.Name
	t := l.Location.Traits()
	end := "to stop it: " + l.Location.CommandLine(t.End, plaintext.ShellWord)
	if t.Server == "" {
		name = t.Noun + " " + name
	}
	subject := string(l.Mark.Address)
	switch {
	case lineage == l.Mark.Project && l.Copied:
		f.warn(subject, name+" has the labels of the session's container, and is not touched", end)
	case lineage == l.Mark.Project:
		f.warn(subject, name+" is running but not in the state", "agentform apply adopts it if the manifest declares it; "+end)
	case lineage == "":
		f.warn(subject, name+" is running, and its state is lost with its lineage",
			"to restore the state: agentform state rebuild; "+end)
	default:
		f.warn(subject, name+" is running and belongs to another state", end)
	}
}

func (f *findings) unreachable(ctx context.Context, in Input, st state.State) {
	if len(st.Sessions) == 0 {
		return
	}
	status, err := in.Reconciler.Inspect(ctx, false)
	if err != nil {
		return // state reports why
	}
	for _, s := range status.Sessions {
		r := s.Record
		if s.Diagnosis.State == session.StateUnknown && status.World.Runtimes[r.Spec.Runtime.Engine()] == nil {
			f.warn(string(r.Address), s.Diagnosis.Detail, "agentform doctor "+plaintext.ShellWord(r.Address.Short()))
		}
	}
}
