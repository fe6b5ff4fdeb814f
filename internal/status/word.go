package status

import (
	"cmp"
	"fmt"
	"time"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/internal/follow"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/session"
)

// WrongBranchWord is the word of a session whose workspace is on another branch.
const WrongBranchWord = "wrong branch"

// Word returns what a session is and does in one word for people: asks, limit, working,
// idle, verified, red, done, failed, exited, timed out, stopped, paused, starting, queued,
// pending, stuck, unhealthy, error, unknown, running or wrong branch.
func Word(x api.Session) string {
	needs := func(r follow.Reason) bool { return x.Needs != nil && x.Needs.Reason == string(r) }
	switch {
	case WrongBranch(x):
		return WrongBranchWord
	case needs(follow.NeedsStart):
		return "stuck"
	case needs(follow.NeedsTime):
		return "timed out"
	case x.Queue != nil:
		return "queued"
	case x.Activity == session.Done, x.Activity == session.Failed:
		return string(x.Activity)
	}
	switch x.State {
	case session.StateRunning, session.StateStarting:
		return liveWord(x)
	case session.StateStale:
		return "exited"
	}
	return string(x.State)
}

func liveWord(x api.Session) string {
	switch {
	case x.Activity == session.Blocked:
		return "asks" // also before it was ready
	case x.Activity == session.BlockedAPI:
		return "limit"
	case x.Unhealthy != nil:
		return "unhealthy"
	case x.State == session.StateStarting, x.Activity == session.Booting:
		return string(session.StateStarting)
	case x.Activity == session.Unobserved, x.Activity == session.NoActivity, x.Activity == "":
		return string(x.State)
	}
	if v := verified(x); v != nil && v.OK {
		return "verified"
	} else if v != nil {
		return red
	}
	return string(x.Activity)
}

// red is the word of a session whose work did not pass verification.
const red = "red"

// verified returns the outcome of the last verification if it is of what the session rests
// from, or if a person is needed for it; nil: its agent works, or has worked since.
func verified(x api.Session) *api.Verified {
	v := x.Verified
	if x.Activity != session.Idle || v == nil || !v.Held && x.Since != nil && x.Since.After(v.At) {
		return nil
	}
	return v
}

// Text returns the word of a session with its details: working 3m, idle 16m, limit until 14:00,
// exited (1), queued 3rd.
func Text(x api.Session, now time.Time) string {
	word := Word(x)
	switch note, since, until := behind(x); {
	case note != "":
		return word + " " + note
	case since != nil:
		return word + " " + plaintext.Age(now.Sub(*since))
	case until != nil:
		return word + " until " + clock(*until, now)
	}
	return word
}

// behind returns what belongs behind the word of a session: a note, the age of a time, or until when.
func behind(x api.Session) (note string, since, until *time.Time) {
	switch Word(x) {
	case red:
		if v := x.Verified; v.Round > 0 {
			note = fmt.Sprintf("%d/%d", v.Round, v.Rounds)
		}
	case "working", "idle", "verified", "starting", "paused":
		since = x.Since
	case "limit":
		until = x.Until
	case string(session.StateUnknown):
		if x.Host != "" {
			note = "(on " + x.Host + ")"
		}
	case "queued":
		note = ordinal(*x.Queue)
	case "exited", "failed", "error":
		if e := x.Exit; e != nil && e.Cause != session.CauseFailedStart {
			note = "(" + cmp.Or(e.Signal, fmt.Sprint(e.Code)) + ")"
		}
	}
	return note, since, until
}

// clock returns a time of day, with the date if that is not the day of now.
func clock(t, now time.Time) string {
	t = t.In(now.Location())
	if t.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return t.Format("15:04")
	}
	return t.Format("Jan 2 15:04")
}

func ordinal(n int) string {
	end := "th"
	if n%100 < 11 || n%100 > 13 {
		end = map[int]string{1: "st", 2: "nd", 3: "rd"}[n%10]
	}
	return fmt.Sprint(n) + cmp.Or(end, "th")
}
