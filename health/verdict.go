package health

import (
	"fmt"
	"hash/fnv"
	"math"
	"time"

	"github.com/agentform/agentform/session"
)

// Reason is why a session is not started now.
type Reason string

// The reasons. None says that it may be started.
const (
	None       Reason = ""
	PolicyNo   Reason = "restart_policy" // its policy says no
	BackingOff Reason = "backing_off"
	BudgetGone Reason = "budget_spent"
)

// Case is how a session came to be without a living agent.
type Case struct {
	Left  bool      // the agent left by itself, with 0, and did not say that it was done
	Ended time.Time // when it ended, as its guest wrote down; zero: not known
	// Free says that the start is no try: the host was rebooted, a limit of the
	// model's provider has ended, somebody asked for it.
	Free bool
	// Key is what the jitter is drawn from, so that the same session waits for the
	// same time whoever asks, and no two wait for the same.
	Key string
}

// Verdict says whether a session may be started now, and why not.
type Verdict struct {
	Reason   Reason
	Until    time.Time // of BackingOff
	Try      int       // the number of the next try, from 1
	Of       int       // how many tries the policy has
	Window   time.Duration
	Escalate bool // the operator is to be told, and was not
}

// Judge says whether a session whose agent is gone may be started by the hub.
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

// due is when the next try may begin. What was told stands, unless the clock went
// back since: nobody waits for longer than the policy says.
func (c Count) due(p session.Restart, x Case, now time.Time) time.Time {
	wait := Wait(p.Backoff, len(c.Tries)+1, x.Key)
	if !c.Until.IsZero() {
		if c.Until.Sub(now) > wait {
			return now.Add(wait)
		}
		return c.Until
	}
	from := c.Ended
	if x.Ended.After(from) {
		from = x.Ended
	}
	if n := len(c.Tries); n > 0 && c.Tries[n-1].After(from) {
		from = c.Tries[n-1]
	}
	if from.IsZero() || from.After(now) {
		from = now
	}
	return from.Add(wait)
}

// Wait is how long the hub waits before a session's n-th start in a row, n from 1:
// initial × factor^(n-1), at most max, up or down by as much as jitter says.
func Wait(b session.Backoff, n int, key string) time.Duration {
	wait := float64(b.Initial) * math.Pow(math.Max(b.Factor, 1), float64(n-1))
	if most := float64(b.Max); most > 0 {
		wait = math.Min(wait, most)
	}
	h := fnv.New64a()
	fmt.Fprint(h, n, " ", key)
	// fnv's high bits of short texts are close together: the low ones are not.
	share := float64(h.Sum64()%1000)/500 - 1
	wait *= 1 + b.Jitter*share
	return time.Duration(math.Min(wait, math.MaxInt64/2))
}

// String is the verdict in words. Its time is in UTC, which who shows it to people turns
// into theirs.
func (v Verdict) String() string {
	switch v.Reason {
	case PolicyNo:
		return "the restart policy leaves it as it is"
	case BackingOff:
		return fmt.Sprintf("backing off, next try %s (%d of %d)", v.Until.UTC().Format(time.RFC3339), v.Try, v.Of)
	case BudgetGone:
		tries := fmt.Sprintf("%d tries within %s are", v.Of, session.Duration(v.Window).Short())
		if v.Of == 1 {
			tries = fmt.Sprintf("1 try within %s is", session.Duration(v.Window).Short())
		}
		return "not started again: " + tries + " used up"
	}
	return fmt.Sprintf("to be started again (%d of %d)", v.Try, v.Of)
}
