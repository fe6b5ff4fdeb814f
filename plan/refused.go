package plan

import (
	"fmt"
	"time"

	"github.com/agentform/agentform/session"
)

// Access is what a session shows of how its provider takes its credential.
type Access struct {
	Refused  time.Time // when it was refused; zero: not in the last turn
	Accepted time.Time // when it was last accepted; zero: not known
	Renewal  string    // for people: what to do about a refusal
}

// Refusal is a credential that its provider refuses.
type Refusal struct {
	Credential session.Credential
	Session    session.Address // that was refused last
	At         time.Time
	Renewal    string
}

// String returns the refusal in words, with what ends the hold.
func (r Refusal) String() string {
	return fmt.Sprintf("the provider refused %s (401), %s at %s: %s, then start a session that uses it",
		r.Credential.Name, r.Session, r.At.UTC().Format(time.RFC3339), r.Renewal)
}

// Refusals returns the credentials that were refused and not accepted since, by their digest.
func Refusals(records []session.Record, access map[session.Address]Access) map[string]Refusal {
	found := map[string]Refusal{}
	accepted := map[string]time.Time{}
	for i := range records {
		r := &records[i]
		c, x := r.Run.Credential, access[r.Address]
		if c.ID == "" {
			continue
		}
		if x.Accepted.After(accepted[c.ID]) {
			accepted[c.ID] = x.Accepted
		}
		if x.Refused.After(found[c.ID].At) {
			found[c.ID] = Refusal{c, r.Address, x.Refused, x.Renewal}
		}
	}
	for id, r := range found {
		if accepted[id].After(r.At) {
			delete(found, id)
		}
	}
	return found
}
