package apply

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/session"
)

// preflight looks at what every session that is to start needs from outside,
// before anything is touched: its command and its secrets. If one lacks
// something, that is told, everything is skipped, and preflight is false.
func (r *run) preflight() bool {
	faults := map[*job]error{}
	for _, j := range r.jobs {
		if j.starts() {
			if err := r.startable(j); err != nil {
				faults[j] = err
			}
		}
	}
	if len(faults) == 0 {
		return true
	}
	for _, j := range r.jobs {
		err := faults[j]
		if err == nil {
			j.outcome, j.detail = Skipped, "nothing was begun, because something that another session needs is missing"
			r.emit(j.event(history.Event{Kind: history.ApplySkipped, Detail: j.detail}), nil)
			continue
		}
		j.outcome, j.err = Failed, fmt.Errorf("%s %s: %w", j.change.Action, j.change.Address, err)
		r.emit(j.event(history.Event{Kind: history.ApplyErrored, Detail: j.err.Error()}), nil)
	}
	return false
}

// startable says what a session lacks to be started, all of it.
func (r *run) startable(j *job) error {
	s := *j.change.After
	var errs []error
	for _, name := range s.Secrets {
		if _, ok := r.Secrets(name); !ok {
			errs = append(errs, fmt.Errorf("secret %s is not set", name))
		}
	}
	if err := j.findAgent(s); err != nil {
		errs = append(errs, fmt.Errorf("agent %q: %w", s.Agent.Name, err))
	}
	return errors.Join(errs...)
}

// findAgent says if an agent's command cannot be found. A path within a
// workspace that is still to be made cannot be judged, and passes.
func (j *job) findAgent(s session.Spec) error {
	start := j.agent().Start(s, "", "")
	if len(start.Argv) == 0 {
		return errors.New("it has no command")
	}
	command := start.Argv[0]
	if strings.Contains(command, "/") && !filepath.IsAbs(command) && !j.run.Git.Look(s.Workspace.Path).Exists {
		return nil
	}
	_, err := lookUp(command, s.Workspace.Path, j.run.environ(s, start.Env))
	return err
}
