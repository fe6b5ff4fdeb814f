package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// planFlags are the flags that plan, apply and destroy share.
type planFlags struct {
	targets, exclude, replace []string
	selector                  // chooses targets besides
	destroy, refreshOnly      bool
	detail                    string
}

func (f *planFlags) register(a *app, c *cobra.Command) {
	flags := c.Flags()
	flags.StringArrayVar(&f.targets, "target", nil, "only this `address` and what it depends on (repeatable)")
	flags.StringArrayVar(&f.exclude, "exclude", nil, "not this `address`, nor what depends on it (repeatable)")
	flags.StringVar(&f.detail, "detail", "changes", "how much to show: changes, full (what stays as it is, too)")
	f.selector.register(a, c, "only sessions")
	completeFlag(c, "target", completeAddresses(a, 0))
	completeFlag(c, "exclude", completeAddresses(a, 0))
	completeFlag(c, "detail", words("changes", "full"))
}

// registerMore adds what makes no sense with destroy.
func (f *planFlags) registerMore(a *app, c *cobra.Command) {
	flags := c.Flags()
	flags.StringArrayVar(&f.replace, "replace", nil, "make this `address` anew, whatever its state (repeatable)")
	flags.BoolVar(&f.destroy, "destroy", false, "plan the end of everything that is on record")
	flags.BoolVar(&f.refreshOnly, "refresh-only", false, "only tell how the live world differs from the record")
	completeFlag(c, "replace", completeAddresses(a, 0))
}

// options turns the flags into a plan's options; addresses are held against
// what is in the manifest or on record.
func (f *planFlags) options(p *project.Project) (plan.Options, error) {
	o := plan.Options{Destroy: f.destroy, RefreshOnly: f.refreshOnly, MaxRunning: p.MaxRunning}
	if f.detail != "changes" && f.detail != "full" {
		return o, errors.New("--detail " + f.detail + ": want changes or full")
	}
	switch {
	case f.destroy && f.refreshOnly:
		return o, errors.New("--destroy plans the end of sessions, --refresh-only nothing: give one of them")
	case f.destroy && len(f.replace) > 0:
		return o, errors.New("--destroy ends sessions, --replace makes them anew: give one of them")
	}
	if len(f.targets)+len(f.exclude)+len(f.replace) == 0 && !f.given() {
		return o, nil
	}
	s, err := state.Read(p.State)
	if err != nil && !errors.Is(err, state.ErrNone) {
		return o, err
	}
	known := addresses(p.Manifest.Sessions, s.Sessions)
	var errs []error
	for _, list := range []struct {
		typed []string
		into  *[]session.Address
	}{{f.targets, &o.Targets}, {f.exclude, &o.Exclude}, {f.replace, &o.Replace}} {
		found, err := resolveAll(known, list.typed)
		*list.into = found
		errs = append(errs, err)
	}
	if f.given() {
		chosen, err := f.choose(p.Manifest.Sessions, s.Sessions)
		o.Targets = append(o.Targets, chosen...)
		errs = append(errs, err)
	}
	return o, errors.Join(errs...)
}
