package status

import (
	"cmp"
	"fmt"
	"iter"
	"time"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/internal/follow"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/session"
)

// The words of Word, those that need attention first.
const (
	WordAsks        = "asks"
	WordWrongBranch = "wrong branch"
	WordStuck       = "stuck"
	WordFailed      = "failed"
	WordError       = "error"
	WordExited      = "exited"
	WordTimedOut    = "timed out"
	WordUnhealthy   = "unhealthy"
	WordRed         = "red" // its work did not pass verification
	WordLimit       = "limit"
	WordInterrupted = "interrupted" // its turn was cut off, and it has not worked since
	WordUnknown     = "unknown"
	WordWorking     = "working"
	WordIdle        = "idle"
	WordVerified    = "verified"
	WordRunning     = "running"
	WordStarting    = "starting"
	WordQueued      = "queued"
	WordPending     = "pending"
	WordPaused      = "paused"
	WordStopped     = "stopped"
	WordDone        = "done"
)

// words are the words of Word in that order, with their tones.
var words = []struct {
	word string
	tone api.Tone
}{
	{WordAsks, api.Attention}, {WordWrongBranch, api.Broken}, {WordStuck, api.Broken}, {WordFailed, api.Broken},
	{WordError, api.Broken}, {WordExited, api.Attention}, {WordTimedOut, api.Attention}, {WordUnhealthy, api.Broken},
	{WordRed, api.Broken}, {WordLimit, api.Attention}, {WordInterrupted, api.Attention}, {WordUnknown, api.Attention},
	{WordWorking, api.Active}, {WordIdle, api.Calm}, {WordVerified, api.Active}, {WordRunning, api.Active}, {WordStarting, api.Active},
	{WordQueued, api.Calm}, {WordPending, api.Calm}, {WordPaused, api.Calm}, {WordStopped, api.Over}, {WordDone, api.Over},
}

// Words yields the words of Word, those that need attention first.
func Words() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, w := range words {
			if !yield(w.word) {
				return
			}
		}
	}
}

// ToneOf returns the tone of a word of Word.
func ToneOf(word string) api.Tone {
	for _, w := range words {
		if w.word == word {
			return w.tone
		}
	}
	return api.Calm
}

// Word returns what a session is and does in one word for people.
func Word(x api.Session) string {
	needs := func(r follow.Reason) bool { return x.Needs != nil && x.Needs.Reason == string(r) }
	switch {
	case WrongBranch(x):
		return WordWrongBranch
	case needs(follow.NeedsStart):
		return WordStuck
	case needs(follow.NeedsTime):
		return WordTimedOut
	case x.Queue != nil:
		return WordQueued
	case x.Activity == session.Done, x.Activity == session.Failed:
		return string(x.Activity)
	}
	switch x.State {
	case session.StateRunning, session.StateStarting:
		return liveWord(x)
	case session.StateStale:
		return WordExited
	}
	return string(x.State)
}

func liveWord(x api.Session) string {
	switch {
	case x.Activity == session.Blocked:
		return WordAsks // also before it was ready
	case x.Activity == session.BlockedAPI:
		return WordLimit
	case x.Unhealthy != nil:
		return WordUnhealthy
	case x.State == session.StateStarting, x.Activity == session.Booting:
		return WordStarting
	case x.Activity == session.Unobserved, x.Activity == session.NoActivity, x.Activity == "":
		return string(x.State)
	}
	v := verified(x)
	switch {
	case x.Interrupted && (v == nil || !v.Held):
		return WordInterrupted
	case v != nil && v.OK:
		return WordVerified
	case v != nil:
		return WordRed
	}
	return string(x.Activity)
}

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
	case WordRed:
		if v := x.Verified; v.Round > 0 {
			note = fmt.Sprintf("%d/%d", v.Round, v.Rounds)
		}
	case WordWorking, WordStarting, WordPaused:
		since = x.Since
	case WordIdle, WordVerified, WordInterrupted:
		if since = x.Since; since != nil && x.StartedAt != nil && x.StartedAt.After(*since) {
			since = x.StartedAt // it rests from a turn of an earlier run
		}
	case WordLimit:
		until = x.Until
	case WordUnknown:
		if x.Host != "" {
			note = "(on " + x.Host + ")"
		}
	case WordQueued:
		note = ordinal(*x.Queue)
	case WordExited, WordFailed, WordError:
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
