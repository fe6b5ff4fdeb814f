package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/agentform/agentform/internal/contained"
	"github.com/agentform/agentform/internal/kubeclient"
	"github.com/agentform/agentform/internal/proc"
	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/internal/shim/reported"
	"github.com/agentform/agentform/internal/sleep"
	"github.com/agentform/agentform/session"
)

// Stop ends a run. The pod stays.
func (r *Runtime) Stop(ctx context.Context, p session.Location, run string, s session.Stop) (err error) {
	defer contained.Annotate(&err, "stop", p.Name)
	if !proc.ValidRun(run) {
		return fmt.Errorf("invalid run id %.80q", run)
	}
	t, err := r.target(ctx, p)
	if errors.Is(err, session.ErrGone) && t.cluster != nil {
		return noOrphan(ctx, t.cluster, p.Name)
	}
	if err != nil || t.set.stopped() {
		return err
	}
	_, runs, err := t.podRuns(ctx)
	if err != nil {
		return fmt.Errorf("cannot end its agent: %w", err)
	}
	if !runs {
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

// How objects are removed: dependents first, and soon if there is nothing to finish.
var (
	foreground = metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationForeground)}
	soon       = metav1.DeleteOptions{GracePeriodSeconds: new(int64(1))}
)

// remove removes an object with a UID, or any of that name if it is empty, and waits until it is gone. It
// retries if the reply was lost.
func (c *cluster) remove(ctx context.Context, r schema.GroupVersionResource, name, uid string, how metav1.DeleteOptions) error {
	if uid != "" {
		how.Preconditions = metav1.NewUIDPreconditions(uid)
	}
	err := c.of(r).Delete(ctx, name, how)
	if kubeclient.Unanswered(err) && sleep.For(ctx, 200*time.Millisecond) {
		err = c.of(r).Delete(ctx, name, how)
	}
	switch {
	case apierrors.IsNotFound(err), uid != "" && apierrors.IsConflict(err): // another object has that name
		return nil
	case err != nil:
		return c.explain(err)
	}
	return c.awaitGone(ctx, r, name, uid)
}

// awaitGone waits until no object of that name exists, or only one with another UID.
func (c *cluster) awaitGone(ctx context.Context, r schema.GroupVersionResource, name, uid string) error {
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, 400*time.Millisecond) {
		if !sleep.For(ctx, wait) {
			return fmt.Errorf("kubernetes: %s %s still exists: %w", r.Resource, name, ctx.Err())
		}
		var there struct{ Metadata metadata }
		if err := c.get(ctx, r, name, &there); apierrors.IsNotFound(err) {
			return nil
		} else if err != nil {
			return err
		}
		if uid != "" && there.Metadata.UID != uid {
			return nil
		}
	}
}

// Remove removes the StatefulSet and its pod, and waits until both are gone. The claim stays: the
// volume may have the only copy of the session's work.
func (r *Runtime) Remove(ctx context.Context, p session.Location) (err error) {
	defer contained.Annotate(&err, "remove", p.Name)
	t, err := find(ctx, r, p)
	removing := errors.Is(err, session.ErrGone) && t.set.Metadata.Deleted != nil
	if errors.Is(err, session.ErrGone) && !removing {
		return noOrphan(ctx, t.cluster, p.Name)
	}
	if err != nil && !removing {
		return err
	}
	if err := t.cluster.remove(ctx, statefulSets, p.Name, t.set.Metadata.UID, foreground); err != nil {
		return err
	}
	return removeUnlabeled(ctx, t.cluster, p.Name, t.set.Metadata.Annotations[annotationAddress])
}
