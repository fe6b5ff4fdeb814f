package plan

import (
	"cmp"
	"slices"
	"time"

	"github.com/agentform/agentform/session"
)

// Resuming is a session that may resume its work when a quota of its credential has reset.
type Resuming struct {
	Address    session.Address
	Credential string // its digest
	Priority   int
	Alive      bool
	Limit      Limit // that its agent is at, or exited at; zero: none
	Staggered  bool  // it resumes, one after the other
	Able       bool  // its agent can be sent "continue", or started, now
	Starting   bool
	// Idles means that its agent was started in its conversation after the limit, and rests: nobody
	// has sent it anything.
	Idles bool
	// Begun is when its agent was last started or sent "continue".
	Begun time.Time
}

const (
	// resumeSpacing is the least time between the reset and the first session, and between two
	// sessions: some agents try again by themselves, clocks differ, and a provider may refuse
	// the first request some seconds after it was made.
	resumeSpacing = 30 * time.Second
	// resumePatience is how long a session is waited for that has not resumed.
	resumePatience = 2 * time.Minute
)

// Turns decides which sessions resume after limits.
type Turns struct {
	// Next are the sessions that resume now: at most one of each credential.
	Next map[session.Address]bool
	// Waiting are those that resume later, each with the session that it waits for, if that is
	// known.
	Waiting map[session.Address]session.Address
	Again   time.Duration // until it is to be decided again; 0: when something changes
}

// ResumeTurns decides which sessions resume. For each credential it is one session at a time, first
// one with a live agent, and the next when the one before works or rests.
func ResumeTurns(all []Resuming, now time.Time) Turns {
	t := Turns{map[session.Address]bool{}, map[session.Address]session.Address{}, 0}
	groups := map[string][]Resuming{}
	for _, r := range all {
		if r.Credential != "" {
			groups[r.Credential] = append(groups[r.Credential], r)
		}
	}
	for _, group := range groups {
		t.decide(group, now)
	}
	return t
}

func (t *Turns) decide(group []Resuming, now time.Time) {
	slices.SortFunc(group, func(a, b Resuming) int {
		alive := 0
		if a.Alive != b.Alive {
			alive = 1
			if a.Alive {
				alive = -1
			}
		}
		return cmp.Or(alive, cmp.Compare(b.Priority, a.Priority), a.Address.Compare(b.Address))
	})
	var ended time.Time // when the last of the limits did that hold the others
	var waiting []Resuming
	limited := false
	for _, r := range group {
		limited = limited || r.Limit.spent() && now.Before(r.Limit.Until)
		over := r.Limit.spent() && !now.Before(r.Limit.Until) && r.Begun.Before(r.Limit.Until)
		if r.Staggered && (over || r.Idles) {
			waiting = append(waiting, r)
			if r.Limit.Until.After(ended) {
				ended = r.Limit.Until
			}
		}
	}
	if len(waiting) == 0 {
		return
	}
	early := resumeSpacing - now.Sub(ended)
	if early > 0 {
		t.lookAgain(early)
	}
	var before session.Address // that has begun, and is waited for
	for _, r := range group {
		if wait := r.unsettled(ended, now); wait > 0 {
			before = r.Address
			t.lookAgain(wait)
		}
	}
	next := slices.IndexFunc(waiting, func(r Resuming) bool { return r.Able })
	for i, r := range waiting {
		switch {
		case !limited && early <= 0 && before == "" && i == next:
			t.Next[r.Address] = true
		case before != "" || next < 0 || limited || early > 0:
			t.Waiting[r.Address] = before
		default:
			t.Waiting[r.Address] = waiting[next].Address
		}
	}
}

// waitsFor returns in words that a session waits for its turn after another one, if that is
// known.
func waitsFor(before session.Address) string {
	if before == "" {
		return "its limit has ended; it is started when its turn comes"
	}
	return "its limit has ended; it is started after " + string(before) + " has resumed"
}

// unsettled returns how long a session is still waited for that has begun since a limit ended;
// 0: it is not.
func (r Resuming) unsettled(ended, now time.Time) time.Duration {
	since := now.Sub(r.Begun)
	switch {
	case r.Begun.Before(ended) || !r.Alive:
		return 0
	case r.Starting || r.Limit.spent(): // it is still at the old one
		return resumePatience - since
	}
	return resumeSpacing - since
}

func (t *Turns) lookAgain(d time.Duration) {
	if t.Again == 0 || d < t.Again {
		t.Again = d
	}
}
