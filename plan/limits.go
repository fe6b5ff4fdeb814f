package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agentform/agentform/session"
)

// Limit is a limit of the model's provider that the agent of a session has met.
type Limit struct {
	Since time.Time // when it was met
	Until time.Time // when it ends
	Said  bool      // the agent says when; else it is a guess
}

// spentQuota is how long a limit lasts at least that holds other sessions. A shorter one is
// over by the time that another agent has begun, and its own agent waits for it.
const spentQuota = 10 * time.Minute

// spent reports whether a quota is used up, so that no other session with the same
// credential can work before it resets.
func (l Limit) spent() bool { return l.Said && l.Until.Sub(l.Since) >= spentQuota }

// Quota is a quota of a credential that is used up.
type Quota struct {
	Credential session.Credential `json:"credential"`
	Session    session.Address    `json:"session"` // that met the limit
	Until      time.Time          `json:"until"`   // when it resets
}

// String returns the quota in words.
func (q Quota) String() string {
	return fmt.Sprintf("%s met a limit of %s, which resets at %s", q.Session, q.Credential.Name, q.Until.UTC().Format(time.RFC3339))
}

// Quotas returns the quotas that are used up, by the digest of their credential. Of several
// limits of a credential, the one that ends last counts.
func Quotas(records []session.Record, limits map[session.Address]Limit, now time.Time) map[string]Quota {
	found := map[string]Quota{}
	for i := range records {
		r := &records[i]
		if f := r.Fallback; f != nil && f.Credential.ID != "" && now.Before(f.Until) && f.Until.After(found[f.Credential.ID].Until) {
			found[f.Credential.ID] = Quota{f.Credential, r.Address, f.Until}
		}
		l, limited := limits[r.Address]
		id := r.Run.Credential.ID
		if limited && id != "" && l.spent() && now.Before(l.Until) && l.Until.After(found[id].Until) {
			found[id] = Quota{r.Run.Credential, r.Address, l.Until}
		}
	}
	return found
}

// holdLimited holds a start of the hub while a quota of the session's credential is used up.
func holdLimited(c Change, spent map[string]Quota) (_ Change, isHeld bool) {
	if c.Before == nil || c.Fallback != nil {
		return c, false
	}
	q, isHeld := spent[c.Before.Run.Credential.ID]
	if !isHeld {
		return c, false
	}
	c = held(c, ReasonBlockedAPI, q.String())
	c.Until = q.Until
	return c, true
}

// WarnLimited returns a warning for each spent quota that starts of a person need.
func WarnLimited(changes []Change, spent map[string]Quota, credential func(Change) session.Credential) []session.Diagnostic {
	if len(spent) == 0 {
		return nil
	}
	needs := map[string]int{}
	for _, c := range changes {
		if starts(c) && c.After != nil {
			needs[credential(c).ID]++
		}
	}
	var all []session.Diagnostic
	for id, q := range spent {
		n := needs[id]
		if n == 0 {
			continue
		}
		summary := "a session is started that cannot work yet"
		if n > 1 {
			summary = fmt.Sprintf("%d sessions are started that cannot work yet", n)
		}
		all = append(all, session.Diagnostic{Code: string(ReasonBlockedAPI), Severity: session.Warning, Summary: summary, Detail: q.String()})
	}
	slices.SortFunc(all, func(a, b session.Diagnostic) int { return strings.Compare(a.Detail, b.Detail) })
	return all
}
