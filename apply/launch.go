package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/session"
)

// launch starts the recorded run, in a place that stands (nil: in a new one),
// and settles the record once nothing is missing: an agent that has its prompt
// typed is complete when it has it.
func (j *job) launch(ctx context.Context, in *session.Place, d delivery) error {
	rt, err := j.run.runtime(j.rec.Spec)
	if err != nil {
		return err
	}
	l, paste, err := j.launching(ctx, d)
	if err != nil {
		return err
	}
	// Before the start: an agent that answers at once has ended its first turn before
	// the runtime has returned.
	startedAt := j.run.now()
	place, err := start(ctx, rt, in, l)
	if errors.Is(err, session.ErrExists) {
		place, err = j.taken(ctx, rt, l, err)
	}
	if err != nil {
		return err
	}
	j.started = true
	j.rec.Place = place
	j.rec.Run.StartedAt = startedAt
	if exit := j.learn(ctx); exit != nil && exit.Cause == "failed_start" {
		return fmt.Errorf("the agent could not be started: %s", exit.Detail)
	}
	if paste != "" {
		err = j.save()
	} else {
		if d.prompt {
			j.rec.Run.DeliveredAt = j.rec.Run.StartedAt
		}
		if patternless(j.rec.Spec.Agent) && j.run.Facts(j.rec.Run.ID).Alive {
			j.rec.Run.ReadyAt = j.rec.Run.StartedAt
		}
		if !j.awaited && j.change.Then == "" {
			j.idle()
		}
		err = j.settle()
	}
	if err != nil {
		return err
	}
	j.tell(history.Event{Kind: history.Launched})
	j.tell(history.Event{Kind: history.IOAttached, Detail: place.Name})
	if !j.rec.Run.ReadyAt.IsZero() {
		j.tell(history.Event{Kind: history.Ready})
	}
	if paste == "" {
		if d.prompt {
			j.tell(history.Event{Kind: history.PromptDelivered, Detail: "with its command line", New: j.rec.Run.PromptSHA})
		}
		if !j.awaited || !j.rec.Run.ReadyAt.IsZero() {
			return nil
		}
		if err := j.becomeReady(ctx); err != nil {
			return err
		}
		return j.save()
	}
	if err := j.becomeReady(ctx); err != nil {
		return err
	}
	return j.paste(ctx, rt, paste)
}

// launching is what the runtime needs, and the prompt if it has to be typed.
func (j *job) launching(ctx context.Context, d delivery) (l session.Launch, paste string, err error) {
	s, r := j.rec.Spec, j.run
	prompt := ""
	if d.prompt {
		if prompt, err = j.promptText(); err != nil {
			return l, "", err
		}
	}
	declared, err := r.secretsOf(s)
	if err != nil {
		return l, "", err
	}
	dir := runDir(r.DataDir, j.rec.Run.ID)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return l, "", fmt.Errorf("make the run's folder: %w", err)
	}
	start, err := j.starting(dir, prompt, d)
	if err != nil {
		return l, "", err
	}
	identity, err := j.identity(ctx)
	if err != nil {
		return l, "", err
	}
	env, secrets, err := r.environ(s, declared, identity, start.Env)
	if err != nil {
		return l, "", err
	}
	env = append(env, shim.SessionVariable+"="+string(j.rec.Address))
	if s.Runtime.Docker == nil && r.ProjectDir != "" {
		env = append(env, shim.ProjectVariable+"="+r.ProjectDir)
	}
	return session.Launch{
		Mark: session.Mark{Project: r.plan.Lineage, Address: j.rec.Address, ID: j.rec.ID,
			Run: j.rec.Run.ID, Hash: s.Hash()},
		Name:    j.rec.Address.OutsideName(r.Project),
		RunDir:  dir,
		Dir:     j.rec.Tree.Path,
		Argv:    start.Argv,
		Env:     env,
		Secrets: secrets,
		Timeout: s.Timeout.D(),
		Stop:    s.Stop,
		Spec:    s,
	}, start.Paste, nil
}

// private is the folder of a run's own settings, in the run's folder.
const private = "private"

// starting asks the agent how the run is started, and writes the settings that it
// wants for that.
func (j *job) starting(dir, prompt string, d delivery) (session.Start, error) {
	s, r := j.rec.Spec, j.run
	in := session.StartInput{
		Spec: s, Prompt: prompt, Conversation: d.conversation, Fresh: r.newUUID(),
		Private: filepath.Join(dir, private), Root: r.asRoot(s), Sandbox: s.Runtime.Traits().Sandbox,
	}
	if r.Hooks != nil {
		hook, err := r.Hooks()
		if err != nil {
			return session.Start{}, err
		}
		in.Notify = append(slices.Clone(hook), dir)
	}
	start := j.agent().Start(in)
	j.rec.Run.Conversation = cmp.Or(start.Conversation, d.conversation)
	if len(start.Files) == 0 {
		return start, nil
	}
	if err := os.MkdirAll(in.Private, 0o700); err != nil {
		return start, fmt.Errorf("make the folder of the run's settings: %w", err)
	}
	for name, text := range start.Files {
		if err := os.WriteFile(filepath.Join(in.Private, name), []byte(text), 0o600); err != nil {
			return start, fmt.Errorf("write the run's settings: %w", err)
		}
	}
	return start, nil
}

// start starts the run where the place stands, and anew where it does not.
func start(ctx context.Context, rt session.Runtime, in *session.Place, l session.Launch) (session.Place, error) {
	if in != nil {
		place, err := rt.Restart(ctx, *in, l)
		if !errors.Is(err, session.ErrGone) {
			return place, err
		}
	}
	return rt.Create(ctx, l)
}

// lateFor is how long a container may take to show after the engine has given its
// name away.
const lateFor = 5 * time.Second

// taken starts a run whose place's name was taken, if what has it is ours; else it
// returns why that could not be, which is given.
func (j *job) taken(ctx context.Context, rt session.Runtime, l session.Launch, why error) (session.Place, error) {
	beside := func() (session.Place, error) {
		// Another clone of the repository has a session of this name.
		l.Name += "-" + l.Mark.Project[:min(len(l.Mark.Project), 6)]
		return rt.Create(ctx, l)
	}
	for until := time.Now().Add(lateFor); ; {
		has, found := j.run.standing(ctx, l)
		switch {
		case found && !has.Foreign && has.Mark.ID != l.Mark.ID:
			// A session keeps its name when its address moves; the next one at the old
			// address gets another.
			l.Name += "-" + l.Mark.Run[:4]
			return rt.Create(ctx, l)
		case found && !has.Foreign && has.Vital == session.Dead:
			// An apply that was killed told the engine to make it, which did that after
			// we had looked.
			if err := rt.Remove(ctx, has.Place); err != nil {
				return session.Place{}, errors.Join(why, err)
			}
			return rt.Create(ctx, l)
		case found && has.Foreign && has.Mark.Project != "":
			return beside()
		case !found && l.Spec.Runtime.Socket != "": // on a person's server others are not listed
			return beside()
		case found || time.Now().After(until):
			return session.Place{}, why
		}
		select {
		case <-ctx.Done():
			return session.Place{}, why
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// learnFor is how long a run that has just been claimed may take to say which
// process its agent is: a fork and an exec, slow on a loaded machine. Without it
// the run is on record all the same.
const learnFor = 2 * time.Second

// learn records which process the agent is, and tells if it has left already.
func (j *job) learn(ctx context.Context) *session.Exit {
	until := time.Now().Add(learnFor)
	for {
		facts := j.run.Facts(j.rec.Run.ID)
		j.rec.Run.BootID, j.rec.Run.Agent = facts.BootID, facts.Agent
		if facts.Agent.PID != 0 || facts.Exit != nil || time.Now().After(until) {
			return facts.Exit
		}
		select {
		case <-ctx.Done():
			return facts.Exit
		case <-time.After(5 * time.Millisecond):
		}
	}
}
