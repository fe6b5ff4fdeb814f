package health

import (
	"fmt"
	"slices"
	"time"

	"github.com/agentform/agentform/session"
)

// Sickness is why a live session is unhealthy.
type Sickness string

// The sicknesses.
const (
	Well       Sickness = ""
	Hung       Sickness = "hung"         // it reports work, and nothing changes
	Heartbeat  Sickness = "heartbeat"    // its probe fails
	Contradict Sickness = "contradicted" // its signals contradict each other
	Overdue    Sickness = "unobserved"   // its session file is missing for too long
)

// Signs are the observations of a session whose agent is or may be alive.
type Signs struct {
	Liveness      session.Liveness
	UnknownReason string           // why Liveness is unknown, for people
	Activity      session.Activity // as the agent's signals say
	Frozen        bool             // then nothing counts
	Age           time.Duration    // of the run
	// Quiet is how long no output, line of its session file or hook was observed. A
	// machine's sleep does not count.
	Quiet      time.Duration
	UnknownFor time.Duration // how long Liveness has been unknown, likewise
	Overdue    bool          // of activity.Look

	Failures int           // failed probes in a row
	Failing  time.Duration // since the first of them
	Failure  string        // of the last, for people
}

// Finding is what the signs mean.
type Finding struct {
	Sickness Sickness
	Detail   string // for people
	Ends     bool   // two signals agree, so it may be restarted; otherwise a person is notified
}

// Check decides whether a session is healthy. A failing probe is one signal; the second
// is that the agent shows no other sign of life meanwhile.
func Check(p session.Health, s Signs) Finding {
	switch {
	case s.Frozen:
		return Finding{}
	case s.Liveness == session.Unknown && p.HungAfter > 0 && s.UnknownFor >= p.HungAfter.D():
		return Finding{Sickness: Contradict, Detail: fmt.Sprintf("unknown for %s whether it is running: %s", brief(s.UnknownFor), s.UnknownReason)}
	case s.Liveness != session.Alive, s.Age < p.StartPeriod.D():
		return Finding{}
	case p.HungAfter > 0 && s.Activity == session.Working && s.Quiet >= p.HungAfter.D():
		return Finding{Sickness: Hung, Ends: true,
			Detail: fmt.Sprintf("it reports that it is working, but its screen and session file have not changed for %s", brief(s.Quiet))}
	case s.Failures >= max(1, p.Failures):
		f := Finding{Sickness: Heartbeat, Detail: fmt.Sprintf("its heartbeat failed %d times in a row: %s", s.Failures, s.Failure)}
		f.Ends = !slices.Contains(waiting, s.Activity) && s.Quiet >= s.Failing
		if !f.Ends {
			f.Detail += "; it shows other signs of life, so nothing is done"
		}
		return f
	case s.Overdue:
		return Finding{Sickness: Overdue, Detail: "its session file cannot be found, for longer than unobserved_for"}
	}
	return Finding{}
}

// waiting are the activities that are signs of life.
var waiting = []session.Activity{session.Idle, session.Blocked, session.BlockedAPI, session.Done}

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

// Pulse counts the failed probes of one run.
type Pulse struct {
	Failures int
	First    time.Time // when the first of them in a row started
	Failure  string    // of the last
}

// Beat returns the pulse after another probe, which started at a time.
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
