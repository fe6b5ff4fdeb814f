package local

import (
	"context"
	"time"

	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/internal/typing"
	"github.com/agentform/agentform/session"
)

// DialogError says that the agent asks something, so that nothing was typed;
// answer with a key (session.Input.Key).
type DialogError = typing.DialogError

// NotTakenError says that a text was typed and nothing shows that the agent has
// taken it.
type NotTakenError = typing.NotTakenError

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
	reading.Activity = look.Activity
	return reading
}

// typed is Launcher.Type.
func (e eyes) typed(ctx context.Context, r session.Record, a session.Agent, text string) error {
	hands := typing.Hands{
		Runtime: e.runtime, Place: r.Place, Agent: a, Boot: r.Spec.Agent.ReadyTimeout.D(),
		Look: func(ctx context.Context) (typing.Sight, error) {
			lives, err := e.runtime.Observe(ctx, true)
			if err != nil {
				return typing.Sight{}, err
			}
			for i := range lives {
				if l := &lives[i]; l.Mark.Run == r.Run.ID {
					r.Run.Agent, r.Run.BootID = l.Agent, l.BootID
					look := e.reader.Read(r, l, r.Run.DeliveredAt, time.Now())
					return typing.Sight{Screen: l.Screen, Reading: look.Reading, Native: look.Native, Heard: e.reader.Heard([]string{r.Run.ID})}, nil
				}
			}
			return typing.Sight{}, session.ErrGone
		},
	}
	_, err := hands.Send(ctx, text, false)
	return err
}
