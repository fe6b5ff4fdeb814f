package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/apply"
	"github.com/agentform/agentform/cmd/internal/action/choose"
	"github.com/agentform/agentform/cmd/internal/action/target"
	"github.com/agentform/agentform/cmd/internal/discover"
	"github.com/agentform/agentform/cmd/internal/exit"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/config"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/tmux"
)

func adoptCommand(a *app) *cobra.Command {
	all := false
	c := &cobra.Command{
		Use:   "adopt [ADDR ID]",
		Short: "Bring a running tmux session or container under management",
		Long: `Brings a running tmux session or container under management without interrupting it. From
then on it is inspected, stopped and restarted like any other session. Nothing else on its
tmux server is touched.

Without arguments it lists the sessions of your tmux servers (plain tmux and tmux -L) in
which an agent runs, found by its processes, and changes nothing. --all adopts those that
can be adopted, each under an address made from its tmux session's name.

ID is ` + tmux.IDForm + `,
docker:CONTAINER or kubernetes:NAMESPACE/NAME. The part after the last slash is the name of
the tmux session. A container must be declared in the manifest, with its image. In a cluster
only sessions of agentform can be adopted, by the name of their StatefulSet or pod.

If the manifest declares ADDR, the session becomes that one; it must work in the declared
workspace, on the declared branch. Otherwise its program, checkout and branch are
detected; an agent that works in a directory of a checkout starts at its top when it is
restarted. Adopted sessions are never destroyed for missing from the manifest.

A managed session that was removed from the state (see state rm) is adopted by its own
address. An import block in a manifest does the same with apply; init --from-tmux writes
them.`,
		Example: `  agentform adopt
  agentform adopt --all
  agentform adopt api tmux:default/work
  agentform adopt 'worker["web"]' tmux:/tmp/tmux-1000/mine/web
  agentform adopt api docker:old-one
  agentform adopt api kubernetes:agents/shop-api-5e897c`,
		Args: func(c *cobra.Command, args []string) error {
			switch {
			case all && len(args) > 0:
				return exit.Usage(c.CommandPath(), errors.New("--all adopts every session that is listed: give it no address"))
			case len(args) == 1:
				return exit.Usage(c.CommandPath(), errors.New("missing argument: agentform adopt ADDR ID"))
			}
			return arguments(0, 2)(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case all:
				return runAdoptAll(c.Context(), a)
			case len(args) == 0:
				return runAdoptList(c.Context(), a)
			}
			return runAdopt(c.Context(), a, args[0], args[1])
		},
	}
	c.Flags().BoolVar(&all, "all", false, "adopt all sessions in which an agent runs")
	return c
}

func runAdopt(ctx context.Context, a *app, typed, id string) error {
	p, s, err := a.Optional()
	if err != nil {
		return err
	}
	address, err := choose.New(typed)
	if err != nil {
		return err
	}
	if project.Find(s.Sessions, address) != nil {
		return fmt.Errorf("%s is in the state already: adopt under another address, or remove it from the state first: agentform state rm %s", address, target.Quoted(address))
	}
	kind, _, _ := strings.Cut(id, ":")
	contained := session.TraitsOf(kind).OwnHome
	spec := p.Declared(address)
	switch {
	case !contained:
		if err := p.Host().Tmux(); err != nil {
			return err
		}
	case spec == nil:
		return fmt.Errorf("adopt %s: the manifest does not declare %s: a %s needs a session block, with its runtime", id, address, session.TraitsOf(kind).Noun)
	}
	if spec == nil {
		if spec, err = describeLive(ctx, a, p, address, id); err != nil {
			return err
		}
	}
	t, err := newReporter(a, "Adopt")
	if err != nil {
		return err
	}
	q := engine.Request{Wanted: []session.Spec{*spec}, Imports: []plan.Import{{To: address, ID: id}}}
	return applySingle(ctx, a, p, t, q, address, session.FromAdopt)
}

func describeLive(ctx context.Context, a *app, p *project.Project, address session.Address, id string) (*session.Spec, error) {
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

// adoptable are the sessions that adopt lists, and the addresses that they would get.
type adoptable struct {
	discover.Found
	project   *project.Project
	addresses map[string]session.Address // by id, of those that can be adopted
	managed   int                        // more that agentform manages already
}

func findAdoptable(ctx context.Context, a *app) (adoptable, error) {
	p, s, err := a.Optional()
	if err == nil {
		err = p.Host().Tmux()
	}
	if err != nil {
		return adoptable{}, err
	}
	x := adoptable{project: p, addresses: map[string]session.Address{},
		Found: discover.Agents(ctx, p.Manifest.Agents, a.Environ.Get("TMUX"))}
	n := len(x.Sessions)
	x.Sessions = slices.DeleteFunc(x.Sessions, func(s discover.Session) bool { return s.Managed.Run != "" })
	x.managed = n - len(x.Sessions)
	taken := choose.Addresses(p.Manifest.Sessions, s.Sessions)
	for _, s := range x.Sessions {
		if s.Problem == "" {
			address := freeAddress(s, taken)
			taken, x.addresses[s.ID] = append(taken, address), address
		}
	}
	return x, ctx.Err()
}

// describe returns what would be adopted, and why some sessions cannot be. It prints what
// is left alone.
func (x adoptable) describe(ctx context.Context, a *app) (drafts []config.Draft, failed []error) {
	for _, found := range x.Sessions {
		address, ok := x.addresses[found.ID]
		if !ok {
			fmt.Fprintf(a.Err, "%s: not adopted: %s\n  %s\n", plaintext.Safe(found.ID), found.Problem, plaintext.Safe(found.Remedy))
			continue
		}
		if spec, err := describeLive(ctx, a, x.project, address, found.ID); err != nil {
			failed = append(failed, err)
		} else {
			drafts = append(drafts, config.Draft{Spec: *spec, Import: found.ID})
		}
	}
	for _, u := range x.Unasked {
		fmt.Fprintf(a.Err, "tmux server %s was skipped: %s\n", plaintext.Safe(u.Socket), plaintext.Safe(u.Problem))
	}
	return drafts, failed
}

// freeAddress returns an address made from the name of a tmux session. No other session has
// it, or an instance of its block.
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

func runAdoptList(ctx context.Context, a *app) error {
	x, err := findAdoptable(ctx, a)
	if err != nil {
		return err
	}
	if a.JSON {
		return view.AdoptableJSON(a.Out, x.Found, x.addresses)
	}
	return view.Adoptable(a.Out, a.OutStyle(), x.Found, x.addresses, x.managed, time.Now())
}

func runAdoptAll(ctx context.Context, a *app) error {
	x, err := findAdoptable(ctx, a)
	if err != nil {
		return err
	}
	drafts, failed := x.describe(ctx, a)
	if len(drafts)+len(failed) == 0 {
		fmt.Fprintln(a.Err, "No agent in your tmux servers can be adopted.")
		return nil
	}
	t, err := newReporter(a, "Adopt")
	if err != nil {
		return err
	}
	var q engine.Request
	for _, d := range drafts {
		q.Wanted = append(q.Wanted, d.Spec)
		q.Imports = append(q.Imports, plan.Import{To: d.Spec.Address, ID: d.Import})
	}
	return applyAdopted(ctx, a, x.project, t, q, failed)
}

// applyAdopted adopts sessions, and leaves all others as they are.
func applyAdopted(ctx context.Context, a *app, p *project.Project, t *reporter, q engine.Request, failed []error) error {
	if len(q.Wanted) == 0 {
		return t.end(apply.Tally{}, nil, errors.Join(failed...))
	}
	for _, s := range q.Wanted {
		q.Options.Targets = append(q.Options.Targets, s.Address)
	}
	q.Options.MaxRunning = p.MaxRunning
	r := p.Reconciler(project.ToAct)
	r.Applier.Origin, r.Applier.Emit = session.FromAdopt, t.event
	made, err := r.Plan(ctx, q)
	if err != nil {
		return err
	}
	problems := slices.DeleteFunc(slices.Clone(made.Problems), func(d session.Diagnostic) bool {
		return d.Address != "" && !slices.Contains(q.Options.Targets, d.Address)
	})
	ctx, drain, done := a.Interruptible(ctx)
	defer done()
	tally, err := r.Apply(ctx, q, made, drain)
	return t.end(tally, problems, errors.Join(append(failed, err)...))
}
