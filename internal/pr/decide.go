package pr

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentform/agentform/internal/forge"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/session"
)

// Action is what to do about a pull request.
type Action string

// The actions. Each but Nothing begins with recording what was read.
const (
	Nothing Action = ""
	Note    Action = "note" // record what was read
	Send    Action = "send" // give the agent what is new
	Hold    Action = "hold" // record that it needs a person
	Land    Action = "land" // record that its work is in its base, if that has all of it
)

// Facts are what Decide judges.
type Facts struct {
	Spec session.PR
	Was  *session.PullRequest // nil: nothing is recorded
	Now  *forge.PullRequest   // nil: there is none
	At   time.Time
	// Rests means that the agent has ended a turn and accepts text. Given is the time of its last
	// input, Ended that of the end of its turn.
	Rests        bool
	Untaken      error // why that agent is sent nothing before somebody helps; nil: it is
	Given, Ended time.Time
	From         time.Time // what was merged before does not count: a person started its agent again
	Landed       bool      // its work has landed, by this pull request or otherwise
	Works        bool      // its agent works
	Unverified   bool      // its verify block is still to judge the turn, or has sent a failure
}

// Parcel is what an agent is to be given.
type Parcel struct {
	Checks   []forge.Check
	Comments []forge.Comment
}

func (p Parcel) empty() bool { return len(p.Checks)+len(p.Comments) == 0 }

// ids identify what is in the parcel.
func (p Parcel) ids() (all []string) {
	for _, c := range p.Checks {
		all = append(all, checkID(c))
	}
	for _, c := range p.Comments {
		all = append(all, c.ID)
	}
	return all
}

const checkPrefix = "check:"

func checkID(c forge.Check) string { return checkPrefix + strconv.FormatInt(c.ID, 10) }

// String returns what is in it, for people: 1 failed check and 2 comments of reviews.
func (p Parcel) String() string {
	var words []string
	if n := len(p.Checks); n > 0 {
		words = append(words, plaintext.Count(n, "failed check"))
	}
	if n := len(p.Comments); n > 0 {
		words = append(words, plaintext.Count(n, "review comment"))
	}
	return plaintext.List(words, "and")
}

const (
	// patience is how long a failed check waits for those that still run: they are sent together,
	// and one that never ends keeps none back.
	patience = 10 * time.Minute
	// settled is how long after a turn its push has certainly reached the pull request.
	settled = time.Minute
	// remembered bounds the ids of sent items that its pull request does not have any more.
	remembered = 500
)

// Decide returns the action, the record to write first, and the text for the agent. The record has
// the times and ids of sent items.
func Decide(f Facts) (Action, session.PullRequest, Parcel) {
	next := noted(f)
	note := func() (Action, session.PullRequest, Parcel) {
		if f.Was.Same(&next) || f.Was == nil && next.Number == 0 && !next.Held() {
			return Nothing, next, Parcel{}
		}
		return Note, next, Parcel{}
	}
	switch {
	case f.Now == nil:
		return note()
	case f.Now.Merged != "" && (next.Held() || f.Now.MergedAt.Before(f.From) || f.Landed && f.Was != nil && f.Was.Number == f.Now.Number && f.Was.State == session.PRMerged):
		return note()
	case f.Now.Merged != "" && f.Works:
		return Nothing, next, Parcel{} // its current work may not be in the base
	case f.Now.Merged != "":
		return Land, next, Parcel{}
	case !f.Now.Open, next.Held(), !f.Rests, f.Unverified:
		return note()
	}
	hold := func(detail string) (Action, session.PullRequest, Parcel) {
		next.HeldAt, next.Detail = f.At.UTC(), detail
		return Hold, next, Parcel{}
	}
	stands := standing(f)
	fresh := Parcel{
		slices.DeleteFunc(slices.Clone(stands.Checks), func(c forge.Check) bool { return slices.Contains(next.Given, checkID(c)) }),
		slices.DeleteFunc(slices.Clone(stands.Comments), func(c forge.Comment) bool { return slices.Contains(next.Given, c.ID) }),
	}
	if waits(f, fresh.Checks) {
		fresh.Checks = nil
	}
	sent := !next.SentAt.IsZero()
	switch {
	case sent && f.Given.Before(next.SentAt):
		return hold("its agent may not have been sent what is new of its pull request")
	case fresh.empty() && sent && next.SentFor == f.Now.Head && f.Ended.After(next.SentAt) && f.At.Sub(f.Ended) >= settled && !stands.empty():
		return hold("its agent has pushed nothing since it was sent " + stands.String())
	case fresh.empty():
		return note()
	case f.Untaken != nil:
		next.SentFor = f.Now.Head // a push ends the hold, as an input does
		return hold(unsent(fresh, f.Untaken))
	case next.Round >= f.Spec.Rounds:
		return hold(fmt.Sprintf("after %s in a row there is more: %s", plaintext.Count(next.Round, "text"), fresh))
	}
	next.Round, next.SentAt, next.SentFor = next.Round+1, f.At.UTC(), f.Now.Head
	next.Given = append(slices.Clone(next.Given), fresh.ids()...)
	if over := len(next.Given) - remembered; over > 0 {
		current := stands.ids() // which would be sent again
		next.Given = slices.DeleteFunc(next.Given, func(id string) bool {
			old := over > 0 && !slices.Contains(current, id)
			if old {
				over--
			}
			return old
		})
	}
	return Send, next, fresh
}

// unsent says why an agent could not be sent what is new.
func unsent(p Parcel, why error) string {
	return fmt.Sprintf("its agent could not be sent %s: %v", p, why)
}

// noted returns the record of the facts read.
func noted(f Facts) session.PullRequest {
	var next session.PullRequest
	if f.Was != nil {
		next = *f.Was
	}
	if next.Unread {
		next.Unread, next.HeldAt, next.Detail = false, time.Time{}, ""
	}
	x := f.Now
	if x == nil {
		return next
	}
	if was := next; was.Number != x.Number { // the work may have another pull request now: what was sent about the old one counts
		next = session.PullRequest{Number: x.Number, Given: was.Given}
		if was.Head == x.Head {
			next.Round, next.SentAt, next.SentFor = was.Round, was.SentAt, was.SentFor
		}
	}
	next.URL, next.Head, next.State = x.URL, x.Head, session.PRClosed
	switch {
	case x.Merged != "":
		if next.State = session.PRMerged; f.Was == nil || f.Was.State != session.PRMerged { // else the merge is why
			next.HeldAt, next.Detail = time.Time{}, ""
		}
		return next
	case !x.Open:
		return next
	}
	next.State, next.Checks, next.Reviews = session.PROpen, checksOf(x.Checks), len(x.Comments)
	helped := next.Held() && (f.Given.After(next.HeldAt) || next.Round < f.Spec.Rounds && next.Head != next.SentFor)
	if helped {
		next.HeldAt, next.Detail = time.Time{}, ""
	}
	if clean(f.Spec, next) && standing(f).empty() {
		next.Round, next.SentAt, next.SentFor, next.HeldAt, next.Detail = 0, time.Time{}, "", time.Time{}, ""
	} else if helped && next.Round >= f.Spec.Rounds {
		next.Round = 0
	}
	return next
}

// clean reports whether the checks of the last commit are no reason for another text. Those of a
// commit that was just pushed are not there yet.
func clean(spec session.PR, r session.PullRequest) bool {
	sent := slices.ContainsFunc(r.Given, func(id string) bool { return strings.HasPrefix(id, checkPrefix) })
	return spec.Checks == session.PRIgnores || r.Checks == session.ChecksPassed || r.Checks == "" && !sent
}

// standing returns what the agent is to have been given: what failed, and what is not resolved.
func standing(f Facts) (p Parcel) {
	if f.Spec.Checks == session.PRSends {
		for _, c := range f.Now.Checks {
			if c.Failed {
				p.Checks = append(p.Checks, c)
			}
		}
	}
	if f.Spec.Reviews == session.PRSends {
		for _, c := range f.Now.Comments {
			if slices.Contains(f.Spec.From, association(c)) {
				p.Comments = append(p.Comments, c)
			}
		}
	}
	return p
}

// association returns the association of an author by the words of a manifest, in which everyone
// who has nothing to do with the repository is NONE.
func association(c forge.Comment) string {
	switch c.Association {
	case "OWNER", "MEMBER", "COLLABORATOR", "CONTRIBUTOR":
		return c.Association
	}
	return "NONE"
}

// waits reports whether failed checks are to wait for others of their commit.
func waits(f Facts, failed []forge.Check) bool {
	running := slices.ContainsFunc(f.Now.Checks, func(c forge.Check) bool { return !c.Done })
	return running && !slices.ContainsFunc(failed, func(c forge.Check) bool { return f.At.Sub(c.At) >= patience })
}

// checksOf sums up the checks of a commit.
func checksOf(all []forge.Check) session.Checks {
	var of session.Checks
	for _, c := range all {
		switch {
		case c.Failed:
			return session.ChecksFailed
		case !c.Done:
			of = session.ChecksRun
		}
	}
	if len(all) > 0 {
		of = cmp.Or(of, session.ChecksPassed)
	}
	return of
}
