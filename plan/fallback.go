package plan

import (
	"fmt"
	"time"

	"github.com/agentform/agentform/session"
)

// fallBack returns the change that starts another agent in place of one that rests at a spent quota
// of its credential: the first of the list whose own credential is neither at a limit nor refused.
func fallBack(c Change, j *join) (_ Change, falls bool) {
	r, h := c.Before, j.in.Hub
	l, limited := h.Limits[c.Address]
	switch {
	case !limited || !l.spent() || l.Until.Sub(j.in.Now) <= spentQuota,
		r.Spec.Limits.OnQuota != session.QuotaFallsBack || !h.Resting[c.Address],
		Desired(*r) != session.Running || r.Finished != nil:
		return c, false
	}
	for _, a := range r.Spec.Limits.Fallback {
		if a.Name == r.Spec.Agent.Name {
			continue
		}
		s := c.After.With(session.OwnAgent{Agent: a})
		if h.Credential != nil {
			id := h.Credential(s, r.ID).ID
			if _, spent := j.spent[id]; spent {
				continue
			}
			if _, refused := j.refused[id]; refused {
				continue
			}
		}
		f := session.Fallback{Agent: a.Name, Instead: r.Declared().Own(), Since: j.in.Now, Credential: r.Run.Credential, Until: l.Until}
		c.After, c.Fallback, c.Fresh, c.Then = &s, &f, true, ""
		c.Fields, _ = compare(&r.Spec, &s)
		why := fmt.Sprintf("%s continues the work of %s, which met a limit that resets at %s", a.Name, r.Spec.Agent.Name, l.Until.UTC().Format(time.RFC3339))
		c = act(c, Restart, ReasonFallback, why)
		if len(h.Restarts[c.Address].Tries) == 0 {
			return j.lacking(c), true
		}
		return j.retry(c), true
	}
	return c, false
}

// keepFallback returns the wanted spec with the fallback that runs, as long as the manifest
// has both agents. A session that is done and gets another prompt has its own agent again.
func keepFallback(r *session.Record, s *session.Spec, replace bool) *session.Spec {
	f := r.Fallback
	if f == nil || replace || s.Agent.Name != f.Instead.Agent.Name || s.Limits.OnQuota != session.QuotaFallsBack || !s.Limits.Lists(f.Agent) ||
		r.Finished != nil && s.Prompt.Digest != r.Spec.Prompt.Digest {
		return s
	}
	kept := s.With(r.Spec.Own())
	return &kept
}
