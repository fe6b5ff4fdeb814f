package health

import (
	"fmt"
	"time"

	"github.com/agentform/agentform/session"
)

// Sickness is why a session that lives is not well.
type Sickness string

// The sicknesses.
const (
	Well       Sickness = ""
	Hung       Sickness = "hung"         // it says that it works, and nothing moves
	Heartbeat  Sickness = "heartbeat"    // its probe fails
	Contradict Sickness = "contradicted" // its signals contradict each other
	Overdue    Sickness = "unobserved"   // its own session file is missing for too long
)

// Signs is what is known of a session whose agent lives, or may live.
type Signs struct {
	Vital    session.Vital
	Doubt    string           // why Vital is unknown, for people
	Activity session.Activity // as the agent's own signals say
	Standing bool             // paused or frozen: nothing counts
	Age      time.Duration    // of the run
	// Quiet is for how long nothing has moved while it was watched: no output, no
	// line in its session file, no hook. The time that a machine sleeps is not in
	// it.
	Quiet    time.Duration
	Doubtful time.Duration // for how long Vital has been unknown, likewise
	Overdue  bool          // of activity.Look

	Failures int           // probes that failed in a row, the last one included
	Failing  time.Duration // since the first of them
	Failure  string        // of the last, for people
}

// Finding is what the signs mean.
type Finding struct {
	Sickness Sickness
	Detail   string // for people
	// Ends says that two signals agree that it does not work any more, so that it
	// may be ended and started again. Without it a person is told.
	Ends bool
}

// Check says whether a session is well. A probe that fails is one signal: only when
// the agent gives no other sign of life as long as it fails do two agree. An agent
// that waits, for a prompt, a person or a limit's end, gives one.
func Check(p session.Health, s Signs) Finding {
	switch {
	case s.Standing:
		return Finding{}
	case s.Vital == session.Unknown:
		if p.HungAfter > 0 && s.Doubtful >= p.HungAfter.D() {
			return Finding{Sickness: Contradict, Detail: fmt.Sprintf("it has not been known for %s whether it lives: %s", brief(s.Doubtful), s.Doubt)}
		}
		return Finding{}
	case s.Vital != session.Alive, s.Age < p.StartPeriod.D():
		return Finding{}
	case p.HungAfter > 0 && s.Activity == session.Working && s.Quiet >= p.HungAfter.D():
		return Finding{Sickness: Hung, Ends: true,
			Detail: fmt.Sprintf("it says that it works, and nothing has moved on its screen or in its session file for %s", brief(s.Quiet))}
	case s.Failures >= max(1, p.Failures):
		f := Finding{Sickness: Heartbeat, Detail: fmt.Sprintf("its heartbeat failed %d times in a row: %s", s.Failures, s.Failure)}
		f.Ends = !waits(s.Activity) && s.Quiet >= s.Failing
		if !f.Ends {
			f.Detail += "; it gives other signs of life, so it is left as it is"
		}
		return f
	case s.Overdue:
		return Finding{Sickness: Overdue, Detail: "its own session file cannot be found, for longer than unobserved_for says"}
	}
	return Finding{}
}

// waits reports whether an agent that does this says by it that it is there.
func waits(a session.Activity) bool {
	switch a {
	case session.Idle, session.Blocked, session.BlockedAPI, session.Done:
		return true
	}
	return false
}

// brief is a time without what nobody reads.
func brief(d time.Duration) time.Duration {
	if d >= time.Minute {
		return d.Round(time.Second)
	}
	return d.Round(10 * time.Millisecond)
}

// Probe is the outcome of one probe.
type Probe struct {
	OK     bool
	Detail string // of a failure, for people
}

// Pulse counts the probes of one run.
type Pulse struct {
	Failures int
	First    time.Time // when the first of them in a row began
	Failure  string    // of the last
}

// Beat is the pulse after one more probe, which began at a time.
func (p Pulse) Beat(x Probe, at time.Time) Pulse {
	if x.OK {
		return Pulse{}
	}
	if p.Failures == 0 {
		p.First = at
	}
	p.Failures++
	p.Failure = x.Detail
	return p
}
