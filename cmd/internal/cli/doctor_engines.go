package cli

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/session"
)

// orphans are live sessions of this project that are not on record, in every tmux
// server and Docker engine that a session names.
func (x *examination) orphans(ctx context.Context) {
	engines := map[string]session.RuntimeSpec{"tmux": {Kind: "tmux"}}
	for _, s := range x.project.manifest.Sessions {
		engines[s.Runtime.Engine()] = s.Runtime
	}
	for _, r := range x.state.Sessions {
		engines[r.Spec.Runtime.Engine()] = r.Spec.Runtime
	}
	for _, engine := range slices.Sorted(maps.Keys(engines)) {
		x.engine(ctx, engine, engines[engine])
	}
}

// engine looks at one of them.
func (x *examination) engine(ctx context.Context, name string, spec session.RuntimeSpec) {
	subject, remedy := name, "look by hand; nothing is done with sessions that cannot be seen"
	switch server := spec.Traits().Server; {
	case server != "":
		if _, found := x.app.env.findCommand("tmux", x.app.env.Dir); !found {
			return // told already
		}
		subject = server + "s"
		if spec.Socket != "" {
			subject = server + " " + spec.Socket
		}
	case spec.Kind == "docker":
		if _, found := x.app.env.findCommand("docker", x.app.env.Dir); !found {
			x.add(view.Warning, "docker command", "not on PATH", "attach leads into containers by it: install it (docker.io, docker-ce-cli, brew install docker); all else does without")
		}
		remedy = "docker version shows whether it is mended; until then sessions in containers are unknown, and nothing is done with them"
	}
	r, err := x.app.runtime(x.project, x.state.Lineage, spec, toLook)
	if err != nil {
		return // the socket folder's finding says why
	}
	defer closer(r)()
	lives, err := r.Observe(ctx, false)
	if err != nil {
		x.add(view.Fault, subject, err.Error(), remedy)
		return
	}
	ours := slices.DeleteFunc(lives, func(l session.Live) bool { return !x.ours(l) })
	runs := map[string]bool{}
	for _, rec := range x.state.Sessions {
		runs[rec.Run.ID] = true
	}
	count := 0
	for _, l := range ours {
		if l.Foreign || l.Copied || !runs[l.Mark.Run] {
			count++
			x.orphan(l)
		}
	}
	if count == 0 {
		x.add(view.Fine, subject, counted(len(ours), "session")+", all accounted for", "")
	}
}

// ours reports whether a live object is of this project's folders. A Docker engine
// is everybody's on this machine: only what has a folder here counts.
func (x *examination) ours(l session.Live) bool {
	if l.Mark.Project == "" {
		return false
	}
	return l.Place.Container == "" || fileExists(filepath.Join(x.project.manifest.DataDir, "containers", l.Mark.ID))
}

// orphan tells of a live session that is on no record, and what to do about it.
func (x *examination) orphan(l session.Live) {
	name := l.Place.Name
	end := fmt.Sprintf("to end it: tmux -S %s kill-session -t '=%s'", l.Place.Socket, name)
	if l.Place.Container != "" {
		name, end = "container "+name, "to end it: docker rm -f "+name
	}
	subject := string(l.Mark.Address)
	switch x.state.Lineage {
	case l.Mark.Project:
		if l.Copied {
			x.add(view.Warning, subject, name+" bears the labels of the session's own container, and is left alone", end)
			return
		}
		x.add(view.Warning, subject, name+" lives and is not on record",
			"agentform apply adopts it if the manifest declares it; "+end)
	case "":
		x.add(view.Warning, subject, name+" runs and the state that had it is lost with its lineage",
			"to restore the state: agentform state rebuild; "+end)
	default:
		x.add(view.Warning, subject, name+" lives and is of another state than this one", end)
	}
}
