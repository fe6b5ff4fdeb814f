package local

import (
	"context"
	"errors"
	"time"

	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/internal/input"
	"github.com/agentform/agentform/session"
)

// DialogError says that the agent asks something, so that nothing was typed: its
// Question is what, its Screen what it shows. Answer with a key
// (session.Session.SendInput with an Input.Key).
type DialogError = input.DialogError

// NotTakenError says that a text was typed and nothing shows that the agent has
// taken it: Draft, that it still stands in the composer, Screen what it shows.
type NotTakenError = input.NotTakenError

// eyes see what agents do by all their signals: the screen, the title, hooks and
// their own session files.
type eyes struct {
	runtime session.Runtime
	reader  *activity.Reader
}

// read is Launcher.Read.
func (e eyes) read(r session.Record, l *session.Live) session.Reading {
	look := e.reader.Read(r, l, r.Run.DeliveredAt, time.Now())
	reading := look.Reading
	reading.Activity, reading.TurnAt, reading.Native = look.Activity, look.TurnAt, look.Native
	return reading
}

// typed is Launcher.Type. To an agent that then leaves with 0 the text was to leave.
func (e eyes) typed(ctx context.Context, r session.Record, a session.Agent, text string) error {
	left := false
	hands := input.Hands{
		Runtime: e.runtime, Place: r.Place, Agent: a, Boot: r.Spec.Agent.ReadyTimeout.D(),
		Look: func(ctx context.Context) (input.Sight, error) {
			lives, err := e.runtime.Observe(ctx, true)
			if err != nil {
				return input.Sight{}, err
			}
			for i := range lives {
				if l := &lives[i]; l.Mark.Run == r.Run.ID {
					left = l.Vital == session.Dead && l.Exit != nil && l.Exit.Cause == "self" && l.Exit.Code == 0 && l.Exit.Signal == ""
					r.Run.Agent, r.Run.BootID = l.Agent, l.BootID
					look := e.reader.Read(r, l, r.Run.DeliveredAt, time.Now())
					return input.Sight{Screen: l.Screen, Reading: look.Reading, Native: look.Native, Heard: e.reader.Heard([]string{r.Run.ID})}, nil
				}
			}
			return input.Sight{}, session.ErrGone
		},
	}
	if err := e.reader.Note(r.Run.ID, text, time.Now()); err != nil {
		return err
	}
	_, err := hands.Send(ctx, text, false)
	if left && errors.Is(err, session.ErrGone) {
		return nil
	}
	return err
}
