package hub

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/internal/verify"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// continueText is what an agent is sent when a quota has reset. To each built-in agent it is a
// message like any other: at a limit they end their turn, and keep the conversation.
const continueText = "continue"

// resumption sends agents "continue" after limits, one at a time.
type resumption struct {
	engine   *engine.Engine
	activity *activity.Reader
	emit     func(history.Event)
	work     *sync.WaitGroup
	wake     func()
	log      *slog.Logger
	running  atomic.Bool
}

// see sends it to an agent whose turn it is.
func (x *resumption) see(ctx context.Context, s *Snapshot, t plan.Turns) {
	if t.Again > 0 {
		s.lookAgain(t.Again)
	}
	if s.Fault != nil || len(t.Next) == 0 {
		return
	}
	for _, k := range s.Sessions {
		if !t.Next[k.Record.Address] || k.Live == nil || k.Live.Liveness != session.Alive || k.Diagnosis.State == session.StatePaused {
			continue
		}
		if !x.running.CompareAndSwap(false, true) {
			return
		}
		x.work.Go(func() {
			defer x.running.Store(false)
			err := x.send(ctx, s.Lineage, k)
			switch _, locked := errors.AsType[*state.LockedError](err); {
			case err == nil:
				x.wake()
			case !locked && ctx.Err() == nil: // the next look decides again
				x.log.Warn("\"continue\" is not sent", "session", k.Record.Address, "error", err)
			}
		})
		return
	}
}

// send records that an agent is sent "continue", and sends it: if the hub is killed in between,
// it is not sent twice.
func (x *resumption) send(ctx context.Context, lineage string, k status.Input) error {
	r := *k.Record
	rt, err := x.engine.Opened(lineage, r.Spec.Runtime)
	if err != nil {
		return err
	}
	at := x.engine.Observer.Now().UTC()
	if err := engine.RecordContinued(ctx, x.engine, r, at); err != nil {
		return err
	}
	sent, err := activity.SendUnasked(ctx, x.activity, rt, r, *k.Live, continueText, x.log)
	if err != nil {
		if verify.Untyped(err) {
			recorded := r
			recorded.Run.ContinuedAt = at
			err = errors.Join(err, engine.RecordContinued(context.WithoutCancel(ctx), x.engine, recorded, r.Run.ContinuedAt))
		}
		return fmt.Errorf("send \"continue\" to %s: %w", r.Address, err)
	}
	sent.By = history.ByHub
	if sent.Reason == "" {
		sent.Reason = string(plan.ReasonLimitOver)
	}
	if err := history.Append(x.engine.Applier.Folder(r), sent); err != nil {
		return err
	}
	x.emit(sent)
	return nil
}
