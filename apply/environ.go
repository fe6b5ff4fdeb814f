package apply

import (
	"slices"
	"strings"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/internal/launch"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

// environments computes the environments of sessions.
type environments struct {
	config    *Applier
	concealed map[string]bool // variables that any session declares as a secret
}

// inherited returns the part of the caller's environment that a session gets, or of that
// of its last run. No session gets a variable that another one declares as a secret.
func (e *environments) inherited(s session.Spec) (session.Inherited, error) {
	base := e.config.BaseEnv
	if e.config.BaseOf != nil {
		own, err := e.config.BaseOf(s.Address)
		if err != nil {
			return session.Inherited{}, err
		}
		switch {
		case len(own) > 0 && s.Limits.Lists(s.Agent.Name): // the agent before did not get its variables
			base = slices.Concat(base, own)
		case len(own) > 0:
			base = own
		}
	}
	base = slices.DeleteFunc(slices.Clone(base), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return e.concealed[name]
	})
	return session.Inherit(base, s, e.config.Agent(s.Agent)), nil
}

// of returns a session's whole environment, and its secret part.
func (e *environments) of(s session.Spec, given ...map[string]string) (env []string, secrets map[string]string, err error) {
	in, err := e.inherited(s)
	if err != nil {
		return nil, nil, err
	}
	env, secrets = launch.Environ(s, in, nil, given...)
	return env, secrets, nil
}

// credential returns the credential that a session would be started with.
func credential(s session.Spec, in session.Inherited, lineage, id string) session.Credential {
	env, secrets := launch.Environ(s, in, nil)
	return agent.Credential(s, agent.CredentialFacts{Salt: lineage, ID: id, Env: env, Secrets: secrets})
}

// Credentials returns a function for the credential that a start of a plan would use; zero if
// that is not known.
func (a *Applier) Credentials(p plan.Plan) func(plan.Change) session.Credential {
	e := newRun(a, p).environs
	return func(c plan.Change) session.Credential {
		in, err := e.inherited(*c.After)
		if err != nil {
			return session.Credential{}
		}
		id := ""
		if c.Before != nil {
			id = c.Before.ID
		}
		return credential(*c.After, in, p.Lineage, id)
	}
}

// conceal takes variables out of the environments that sessions inherit.
func (e *environments) conceal(names []string) {
	for _, name := range names {
		e.concealed[name] = true
	}
}
