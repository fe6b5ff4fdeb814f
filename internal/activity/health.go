package activity

import (
	"slices"
	"time"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/session"
)

// Illness is what the hub found wrong with a live session.
type Illness struct {
	Reason    string // hung, heartbeat, contradicted, unobserved
	Detail    string // for people
	At        time.Time
	Escalated bool // a person was told
}

// IllnessOf returns what the hub found wrong with a session's run and has not
// withdrawn, by its history, or nil.
func IllnessOf(rec session.Record, past []history.Event) *Illness {
	escalated := false
	for _, e := range slices.Backward(past) {
		switch {
		case e.Kind == history.Healthy || e.Kind == history.Launched || e.Kind == history.RunEnded:
			return nil
		case e.Kind == history.Escalated && e.Reason == string(history.Unhealthy):
			escalated = true
		case e.Kind == history.Unhealthy && e.Run == rec.Run.ID:
			return &Illness{Reason: e.Reason, Detail: e.Detail, At: e.Time, Escalated: escalated}
		}
	}
	return nil
}
