// Package adopt brings running tmux sessions and containers under management.
package adopt

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/agentform/agentform/cmd/internal/action/choose"
	"github.com/agentform/agentform/cmd/internal/action/reconcile"
	"github.com/agentform/agentform/cmd/internal/action/target"
	"github.com/agentform/agentform/cmd/internal/discover"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/config"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// Plan plans to adopt a session under an address.
func Plan(ctx context.Context, p *project.Project, s state.State, address session.Address, id string) (reconcile.Planned, error) {
	none := reconcile.Planned{}
	if project.Find(s.Sessions, address) != nil {
		return none, fmt.Errorf("%s is in the state already: adopt under another address, or remove it from the state first: agentform state rm %s", address, target.Quoted(address))
	}
	kind, _, _ := strings.Cut(id, ":")
	contained := session.TraitsOf(kind).OwnHome
	spec := p.Declared(address)
	switch {
	case !contained:
		if err := p.Host().Tmux(); err != nil {
			return none, err
		}
	case spec == nil:
		return none, fmt.Errorf("adopt %s: the manifest does not declare %s: a %s needs a session block, with its runtime", id, address, session.TraitsOf(kind).Noun)
	}
	if spec == nil {
		var err error
		if spec, err = describe(ctx, p, address, id); err != nil {
			return none, err
		}
	}
	return reconcile.Only(ctx, p, engine.Request{Wanted: []session.Spec{*spec}, Imports: []plan.Import{{To: address, ID: id}}}, address)
}

// describe returns a tmux session as a declared one.
func describe(ctx context.Context, p *project.Project, address session.Address, id string) (*session.Spec, error) {
	rt, err := p.Reconciler(project.ToRead).For(session.Spec{Runtime: session.RuntimeSpec{Kind: "tmux"}})
	if err != nil {
		return nil, err
	}
	found := rt.(session.Finder).Find(ctx, id)
	if found.Err != nil {
		return nil, fmt.Errorf("adopt %s: %w", id, found.Err)
	}
	l := found.Live
	if !l.Foreign {
		if spec := p.Launched(l.Mark.Run); spec != nil {
			spec.Address = address
			return spec, nil
		}
	}
	asked := config.Request{Address: address, Dir: discover.Checkout(l.Dir)}
	if found, ok := discover.Below(l.Agent.PID, p.Manifest.Agents); ok {
		asked.Agent, asked.Args = found.Name, found.Args
	} else if name, args, ok := discover.Recognize(p.Manifest.Agents, l.Command); ok {
		asked.Agent, asked.Args = name, args
	} else {
		asked.Command = l.Command
	}
	spec, err := p.Manifest.Compose(asked)
	if err != nil {
		return nil, fmt.Errorf("adopt %s: %w", id, err)
	}
	return &spec, nil
}

// Adoptable are the sessions of the user's own tmux servers that could be adopted.
type Adoptable struct {
	discover.Found
	Project   *project.Project
	Addresses map[string]session.Address // by id, for adoption
	Managed   int                        // number of those already managed by agentform
}

// Find finds adoptable sessions. It changes nothing.
func Find(ctx context.Context, p *project.Project, s state.State) (Adoptable, error) {
	if err := p.Host().Tmux(); err != nil {
		return Adoptable{}, err
	}
	x := Adoptable{Project: p, Addresses: map[string]session.Address{},
		Found: discover.Agents(ctx, p.Manifest.Agents, p.Environ.Get("TMUX"))}
	n := len(x.Sessions)
	x.Sessions = slices.DeleteFunc(x.Sessions, func(s discover.Session) bool { return s.Managed.Run != "" })
	x.Managed = n - len(x.Sessions)
	taken := choose.Addresses(p.Manifest.Sessions, s.Sessions)
	for _, s := range x.Sessions {
		if s.Problem == "" {
			address := freeAddress(s, taken)
			taken, x.Addresses[s.ID] = append(taken, address), address
		}
	}
	return x, ctx.Err()
}

// Drafts returns what would be adopted, and why other sessions cannot be.
func (x Adoptable) Drafts(ctx context.Context) (drafts []config.Draft, failed []error) {
	for _, found := range x.Sessions {
		address, ok := x.Addresses[found.ID]
		if !ok {
			continue
		}
		if spec, err := describe(ctx, x.Project, address, found.ID); err != nil {
			failed = append(failed, err)
		} else {
			drafts = append(drafts, config.Draft{Spec: *spec, Import: found.ID})
		}
	}
	return drafts, failed
}

// Sharing is a session that a manifest cannot declare together with another one.
type Sharing struct {
	config.Draft
	With session.Address // works in the same directory
}

// Declarable returns the sessions that one manifest can declare, and the others.
func Declarable(all []config.Draft) (drafts []config.Draft, sharing []Sharing) {
	for _, d := range all {
		i := slices.IndexFunc(drafts, func(other config.Draft) bool {
			w := other.Spec.Workspace
			return w.Path == d.Spec.Workspace.Path && (w.Mode != session.InPlace || d.Spec.Workspace.Mode != session.InPlace)
		})
		if i < 0 {
			drafts = append(drafts, d)
		} else {
			sharing = append(sharing, Sharing{d, drafts[i].Spec.Address})
		}
	}
	return drafts, sharing
}

// freeAddress returns an address derived from the name of a tmux session. No other session, and no
// instance of its block, has it.
func freeAddress(s discover.Session, taken []session.Address) session.Address {
	name := session.Slug(s.Name)
	if _, err := session.ParseAddress(string(session.Single(name))); err != nil || strings.Trim(name, "0123456789") == "" {
		name = session.Slug(s.Agent) + "-" + name // tmux calls its sessions 0, 1, 2, unless someone names them
	}
	for i := 1; ; i++ {
		address := session.Single(name)
		if i > 1 {
			address = session.Single(fmt.Sprintf("%s-%d", name, i))
		}
		if !slices.ContainsFunc(taken, func(t session.Address) bool { return t.Block() == address.Block() }) {
			return address
		}
	}
}

// All plans to adopt sessions, and leaves all others unchanged.
func (x Adoptable) All(ctx context.Context, drafts []config.Draft) (reconcile.Planned, error) {
	var q engine.Request
	var addresses []session.Address
	for _, d := range drafts {
		q.Wanted = append(q.Wanted, d.Spec)
		q.Imports = append(q.Imports, plan.Import{To: d.Spec.Address, ID: d.Import})
		addresses = append(addresses, d.Spec.Address)
	}
	return reconcile.Only(ctx, x.Project, q, addresses...)
}
