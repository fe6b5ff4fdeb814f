package apply

import (
	"slices"
	"strings"

	"github.com/agentform/agentform/internal/launch"
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
		if len(own) > 0 {
			base = own
		}
	}
	base = slices.DeleteFunc(slices.Clone(base), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return e.concealed[name]
	})
	return session.Inherit(base, s, e.config.Agent(s.Agent)), nil
}

// of returns a session's whole environment, and what of it is secret.
func (e *environments) of(s session.Spec, given ...map[string]string) (env []string, secrets map[string]string, err error) {
	in, err := e.inherited(s)
	if err != nil {
		return nil, nil, err
	}
	env, secrets = launch.Environ(s, in, nil, given...)
	return env, secrets, nil
}

// conceal takes variables out of the environments that sessions inherit.
func (e *environments) conceal(names []string) {
	for _, name := range names {
		e.concealed[name] = true
	}
}
