package apply

import (
	"context"
	"errors"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/session"
)

// keepTranscript appends what the session's screen showed to its transcript,
// before that screen is taken away. A place that is gone shows nothing; a
// transcript that cannot be written is a warning, since ending a session must
// also work on a full disk.
func (j *job) keepTranscript(ctx context.Context, rt session.Runtime, p session.Place) {
	text, err := rt.Capture(ctx, p, 0)
	if errors.Is(err, session.ErrGone) {
		return
	}
	if err == nil {
		why := string(j.change.Action)
		if j.change.Detail != "" {
			why += ": " + firstLine(j.change.Detail)
		}
		err = history.Keep(j.run.Folder(j.rec), j.run.now(), j.rec.Run.ID, why, text)
	}
	if err != nil {
		j.run.warn(j.change.Address, "the screen could not be kept in the transcript", err.Error())
	}
}
