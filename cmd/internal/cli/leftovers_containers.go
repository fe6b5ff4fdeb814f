package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/session"
)

// containers is where the runtime of containers keeps what sessions in them have.
func (x *search) containers() string { return filepath.Join(x.manifest.DataDir, "containers") }

// askEngines looks what lives in containers, if there was ever one of the project.
// Where an engine does not answer, what belongs to containers is not looked at.
func (a *app) askEngines(ctx context.Context, x *search) {
	if len(entries(x.containers())) == 0 {
		return
	}
	engines := map[string]session.RuntimeSpec{}
	for _, r := range x.state.Sessions {
		if !r.Spec.Runtime.Traits().HostProcesses {
			engines[r.Spec.Runtime.Engine()] = r.Spec.Runtime
		}
	}
	if len(engines) == 0 { // one whose record is gone may have left something
		engines["docker"] = session.RuntimeSpec{Kind: "docker"}
	}
	r := a.reconciler(x.project, toLook)
	for _, spec := range engines {
		rt, err := r.For(session.Spec{Runtime: spec})
		var lives []session.Live
		if err == nil {
			lives, err = rt.Observe(ctx, false)
		}
		if err != nil {
			x.blind = true
			return
		}
		x.lives = append(x.lives, lives...)
	}
}

// contained reports whether a run's folder is a link to what a container has of it.
func (x *search) contained(run string) bool {
	to, err := os.Readlink(x.runDir(run))
	return err == nil && strings.HasPrefix(to, x.containers()+string(filepath.Separator))
}

// oldContainers are the folders of containers that are neither on record nor there,
// and the runs that those had, whose folders lie in them.
func (x *search) oldContainers() {
	if x.blind {
		return
	}
	used := map[string]bool{}
	for _, r := range x.state.Sessions {
		used[r.ID] = true
	}
	for _, l := range x.lives {
		used[l.Mark.ID] = true
	}
	for _, e := range entries(x.containers()) {
		if e.IsDir() && !used[e.Name()] {
			x.add(kindRun, filepath.Join(x.containers(), e.Name()), view.LeftToRemove, "its container is gone")
		}
	}
	for _, e := range entries(filepath.Join(x.manifest.DataDir, "runs")) {
		if !x.runs[e.Name()] && x.contained(e.Name()) {
			x.add(kindRun, x.runDir(e.Name()), view.LeftToRemove, "no session needs it")
		}
	}
}
