package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/agentform/agentform/internal/kubeclient"
	"github.com/agentform/agentform/internal/proc"
	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/internal/shim/reported"
	"github.com/agentform/agentform/internal/tmuxwire"
	"github.com/agentform/agentform/session"
)

// Stop ends a run. The pod stays.
func (r *Runtime) Stop(ctx context.Context, p session.Location, run string, s session.Stop) (err error) {
	defer annotate(&err, "stop", p.Name)
	if !proc.ValidRun(run) {
		return fmt.Errorf("invalid run id %.80q", run)
	}
	t, err := r.target(ctx, p)
	if errors.Is(err, session.ErrGone) {
		return nil
	}
	if err != nil || t.set.stopped() {
		return err
	}
	var at pod
	err = t.cluster.get(ctx, pods, t.pod, &at)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return err
	case at.isolated() || at.Metadata.Deleted != nil:
		return fmt.Errorf("kubernetes: cannot end its agent: %s", unreachable(at))
	case !at.running():
		return nil
	}
	grace := s.Grace.D()
	_, err = t.ask(ctx, shim.InitRequest{Op: shim.OpEnd, Run: run, RunDir: t.runDir(run), Signal: s.Signal, Grace: grace}, 2*(grace+proc.KillTimeout)+2*shim.AnswerTimeout+execTimeout)
	if errors.Is(err, errNoProgram) {
		return nil // no init was ever started in it
	}
	if err != nil || t.record.Mark.Run != run {
		return err
	}
	in, err := t.look(ctx, false)
	if err != nil {
		return err
	}
	return t.update(ctx, func(k *record) error {
		if k.Mark.Run == run && !in.Agent {
			k.Exit, k.Paused = reported.ClaimedExit(in.Exit), ""
		}
		return nil
	})
}

// delete asks for the removal of an object, again if the answer was lost.
func (c *cluster) delete(ctx context.Context, r schema.GroupVersionResource, name string, o metav1.DeleteOptions) error {
	err := c.of(r).Delete(ctx, name, o)
	if kubeclient.Unanswered(err) && sleep(ctx, 200*time.Millisecond) == nil {
		err = c.of(r).Delete(ctx, name, o)
	}
	return err
}

// remove removes an object and returns when it is gone.
func (c *cluster) remove(ctx context.Context, r schema.GroupVersionResource, name string) error {
	policy := metav1.DeletePropagationForeground
	err := c.delete(ctx, r, name, metav1.DeleteOptions{PropagationPolicy: &policy})
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, 400*time.Millisecond) {
		switch {
		case apierrors.IsNotFound(err):
			return nil
		case err != nil:
			return c.explain(err)
		}
		if ended := sleep(ctx, wait); ended != nil {
			return fmt.Errorf("kubernetes: %s %s still exists: %w", r.Resource, name, ended)
		}
		var there struct{ Metadata metadata }
		err = c.get(ctx, r, name, &there)
	}
}

// Remove removes the StatefulSet and its pod, and returns when the cluster has none. The
// claim stays: what is on the volume may be all there is of the session's work.
func (r *Runtime) Remove(ctx context.Context, p session.Location) (err error) {
	defer annotate(&err, "remove", p.Name)
	t, err := find(ctx, r, p)
	removing := errors.Is(err, session.ErrGone) && t.set.Metadata.Deleted != nil
	if errors.Is(err, session.ErrGone) && !removing {
		return nil
	}
	if err != nil && !removing {
		return err
	}
	return t.cluster.remove(ctx, statefulSets, p.Name)
}

// Pause detaches clients and disables input. With session.Freeze it also freezes the agent
// and its children.
func (r *Runtime) Pause(ctx context.Context, p session.Location, run, mode string) (err error) {
	defer annotate(&err, "pause", p.Name)
	if mode != session.Detach && mode != session.Freeze {
		return fmt.Errorf("unknown mode %q", mode)
	}
	t, err := holding(ctx, r, p, run)
	if err != nil {
		return err
	}
	if mode == session.Freeze {
		if _, err := t.toShim(ctx, run, shim.Request{Op: shim.OpPause}, execTimeout); err != nil {
			return err
		}
	}
	if _, err := t.tmux(ctx, "", tmuxwire.DisableInput(pane)); err != nil {
		return err
	}
	_, _ = t.tmux(ctx, "", tmuxwire.Command{"detach-client", "-s", pane}) // fails if nobody is attached
	return t.update(ctx, func(k *record) error {
		k.Paused = mode
		return nil
	})
}

// Resume undoes any pause.
func (r *Runtime) Resume(ctx context.Context, p session.Location, run string) (err error) {
	defer annotate(&err, "resume", p.Name)
	t, err := holding(ctx, r, p, run)
	if err != nil {
		return err
	}
	// Whatever is recorded: to resume what is not frozen is not an error.
	if _, err := t.toShim(ctx, run, shim.Request{Op: shim.OpResume}, execTimeout); err != nil && t.record.Paused == session.Freeze {
		return err
	}
	if _, err := t.tmux(ctx, "", tmuxwire.EnableInput(pane)); err != nil {
		return err
	}
	return t.update(ctx, func(k *record) error {
		k.Paused = ""
		return nil
	})
}

// SetTimeout changes the timeout of a run.
func (r *Runtime) SetTimeout(ctx context.Context, p session.Location, run string, timeout time.Duration) (err error) {
	defer annotate(&err, "set the timeout of", p.Name)
	t, err := holding(ctx, r, p, run)
	if err != nil {
		return err
	}
	_, err = t.toShim(ctx, run, shim.Request{Op: shim.OpSet, Settings: shim.Settings{Timeout: &timeout}}, execTimeout)
	return err
}

// Probe runs a command next to the agent, in its pod, for at most the timeout, and returns
// why the command failed, or nothing. The error is session.ErrUnprobeable if no shim
// answers.
func (r *Runtime) Probe(ctx context.Context, p session.Location, run string, argv []string, timeout time.Duration) (failed string, err error) {
	t, err := r.live(ctx, p)
	if err != nil {
		return "", fmt.Errorf("%w: %w", session.ErrUnprobeable, err)
	}
	a, err := t.toShim(ctx, run, shim.Request{Op: shim.OpProbe, Probe: shim.Probe{Argv: argv, Timeout: timeout}}, timeout+execTimeout)
	if err != nil || a.Probed == nil {
		return "", err
	}
	return a.Probed.Failure(timeout), nil
}

// Verify runs a command next to the agent, in its pod, for as long as it takes. The error is
// session.ErrUnprobeable if no shim answers, or one refuses.
func (r *Runtime) Verify(ctx context.Context, p session.Location, run string, argv []string, timeout time.Duration) (session.Verification, error) {
	t, err := r.live(ctx, p)
	if err != nil {
		return session.Verification{}, fmt.Errorf("%w: %w", session.ErrUnprobeable, err)
	}
	a, err := t.toShim(ctx, run, shim.Request{Op: shim.OpVerify, Probe: shim.Probe{Argv: argv, Timeout: timeout}}, timeout+2*execTimeout)
	if err == nil && a.Probed == nil {
		err = errors.New("kubernetes: the shim's answer is incomplete")
	}
	if err != nil {
		return session.Verification{}, err
	}
	return reported.Verification(*a.Probed, timeout), nil
}

// Unread returns how many bytes of its input the agent has not read. The error is
// session.ErrUnprobeable if no shim answers.
func (r *Runtime) Unread(ctx context.Context, p session.Location, run string) (int, error) {
	t, err := r.live(ctx, p)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", session.ErrUnprobeable, err)
	}
	a, err := t.toShim(ctx, run, shim.Request{Op: shim.OpUnread}, execTimeout)
	if err != nil || a.Unread == nil {
		return 0, err
	}
	return *a.Unread, nil
}
