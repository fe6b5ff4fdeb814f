package apply

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/session"
)

// preflight looks at what every session that is to start needs from outside,
// before anything is touched: its command and its secrets. If one lacks
// something, that is told, and either it fails alone, or everything is skipped and
// preflight is false.
func (r *run) preflight(ctx context.Context) bool {
	faults := map[*job]error{}
	search := Search{}
	for _, j := range r.jobs {
		if j.starts() {
			if err := r.startable(ctx, j, search); err != nil {
				faults[j] = err
			}
		}
	}
	if len(faults) == 0 {
		return true
	}
	for _, j := range r.jobs {
		err := faults[j]
		switch {
		case err == nil && r.EachAlone:
			continue
		case err == nil:
			j.outcome, j.detail = Skipped, "nothing was begun, because something that another session needs is missing"
			r.emit(j.event(history.Event{Kind: history.ApplySkipped, Detail: j.detail}), nil)
			continue
		}
		j.outcome, j.err = Failed, &failure{j.change.Action, j.change.Address, err}
		var of *session.Record
		if r.EachAlone {
			of = j.change.Before // it is tried again: the history has to tell how often
		}
		r.emit(j.event(history.Event{Kind: history.ApplyErrored, Detail: j.err.Error()}), of)
	}
	if r.EachAlone {
		for j := range faults {
			r.skipAfter(j)
		}
	}
	return r.EachAlone
}

// startable says what a session lacks to be started, all of it.
func (r *run) startable(ctx context.Context, j *job, search Search) error {
	s := *j.change.After
	var errs []error
	for _, name := range s.Secrets {
		if _, ok := r.Secrets(name); !ok {
			errs = append(errs, fmt.Errorf("secret %s is not set", name))
		}
	}
	if err := j.findAgent(ctx, s, search); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// findAgent says if an agent's command cannot be found where it is to run, or if
// there is no such place.
func (j *job) findAgent(ctx context.Context, s session.Spec, search Search) error {
	start := j.agent().Start(session.StartInput{Spec: s})
	c, err := j.run.container(s)
	switch {
	case err != nil:
		return err
	case c != nil:
		return c.Check(ctx, s, start.Argv)
	}
	env, _, err := j.run.environ(s, start.Env)
	if err != nil {
		return err
	}
	if err := search.Startable(s, start.Argv, env); err != nil {
		return fmt.Errorf("agent %q: %w", s.Agent.Name, err)
	}
	return nil
}

// Startable says why a session cannot be started with the command line of its
// agent in an environment (NAME=VALUE, the last of a name counts); nil: nothing
// stands in the way. A path within a workspace that is still to be made cannot
// be judged, and passes.
func (search Search) Startable(s session.Spec, argv, env []string) error {
	if len(argv) == 0 {
		return errors.New("it has no command")
	}
	if strings.Contains(argv[0], "/") && !filepath.IsAbs(argv[0]) {
		if _, err := os.Stat(s.Workspace.Path); err != nil {
			return nil
		}
	}
	path, err := search.lookUp(argv[0], s.Workspace.Path, env)
	if err != nil {
		return err
	}
	return interpreted(path)
}

// interpreted says of a script that its interpreter is not there. What cannot be
// read is for the system to judge.
func interpreted(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	head := make([]byte, 256)
	n, _ := f.Read(head)
	line, isScript := strings.CutPrefix(string(head[:n]), "#!")
	if !isScript {
		return nil
	}
	line, _, _ = strings.Cut(line, "\n")
	words := strings.Fields(line)
	if len(words) == 0 || !filepath.IsAbs(words[0]) {
		return nil
	}
	if _, err := os.Stat(words[0]); errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%s cannot run: its interpreter %s is not there", path, words[0])
	}
	return nil
}
