package health

import (
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"time"

	"github.com/agentform/agentform/session"
)

// Reason is why a session is not restarted now.
type Reason string

// The reasons. None: it may be restarted.
const (
	None       Reason = ""
	PolicyNo   Reason = "restart_policy"
	BackingOff Reason = "backing_off"
	BudgetGone Reason = "budget_spent"
)

// Case is how a session lost its agent.
type Case struct {
	Left  bool      // the agent exited by itself with 0, without finishing
	Ended time.Time // when it ended; zero: unknown
	Free  bool      // the start costs no budget
	Key   string    // seeds the jitter, so that a session's wait does not change
}

// Verdict is whether a session may be restarted now, or why not.
type Verdict struct {
	Reason   Reason
	Until    time.Time // of BackingOff
	Try      int       // the number of the next try, from 1
	Of       int       // how many tries the policy has
	Window   time.Duration
	Escalate bool // the operator is to be notified now
}

// Judge decides whether the hub may start a session without an agent.
func (c Count) Judge(p session.Restart, x Case, now time.Time) Verdict {
	used := c.Used(p, now)
	v := Verdict{Try: used + 1, Of: p.Attempts, Window: p.Window.D(),
		Escalate: p.EscalateAfter > 0 && used >= p.EscalateAfter && !c.Escalated && !c.Spent}
	switch {
	case p.Policy == "never", p.Policy != "always" && x.Left:
		v.Reason, v.Escalate = PolicyNo, false
	case x.Free:
	case c.Spent, used >= p.Attempts:
		v.Reason, v.Escalate = BudgetGone, !c.Spent
	default:
		if v.Until = c.due(p, x, now); now.Before(v.Until) {
			v.Reason = BackingOff
		}
	}
	return v
}

// due returns when the next try is due. A reported time stays, unless the clock went back.
func (c Count) due(p session.Restart, x Case, now time.Time) time.Time {
	wait := Wait(p.Backoff, len(c.Tries)+1, x.Key)
	if !c.Until.IsZero() {
		if c.Until.Sub(now) > wait {
			return now.Add(wait)
		}
		return c.Until
	}
	from := slices.MaxFunc(append([]time.Time{c.Ended, x.Ended}, c.Tries...), time.Time.Compare)
	if from.IsZero() || from.After(now) {
		from = now
	}
	return from.Add(wait)
}

// Wait returns how long the hub waits before the n-th start in a row, n from 1:
// initial × factor^(n-1), at most max, changed by up to jitter.
func Wait(b session.Backoff, n int, key string) time.Duration {
	wait := float64(b.Initial) * math.Pow(math.Max(b.Factor, 1), float64(n-1))
	if most := float64(b.Max); most > 0 {
		wait = math.Min(wait, most)
	}
	h := fnv.New64a()
	fmt.Fprint(h, n, " ", key)
	// For short texts only fnv's low bits differ enough.
	share := float64(h.Sum64()%1000)/500 - 1
	wait *= 1 + b.Jitter*share
	return time.Duration(math.Min(wait, math.MaxInt64/2))
}

// String returns the verdict for people, with the time in UTC.
func (v Verdict) String() string {
	switch v.Reason {
	case PolicyNo:
		return "the restart policy does not restart it"
	case BackingOff:
		return fmt.Sprintf("backing off, next try %s (%d of %d)", v.Until.UTC().Format(time.RFC3339), v.Try, v.Of)
	case BudgetGone:
		form := "not restarted: %d attempts within %s are used up"
		if v.Of == 1 {
			form = "not restarted: %d attempt within %s is used up"
		}
		return fmt.Sprintf(form, v.Of, session.Duration(v.Window).Short())
	}
	return fmt.Sprintf("will be restarted (%d of %d)", v.Try, v.Of)
}
