package cli

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/config"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/tmux"
)

func adoptCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "adopt ADDR ID",
		Short: "Bring a running tmux session or container under management",
		Long: `Brings a running tmux session or container under management without interrupting it. From
then on it is inspected, stopped and restarted like any other session. Nothing else on its
tmux server is touched.

ID is ` + tmux.IDForm + `,
or docker:CONTAINER. The part after the last slash is the name of the tmux session. A
container must be declared in the manifest, with its image.

If the manifest declares ADDR, the session becomes that one; it must work in the declared
workspace, on the declared branch. Otherwise its program, directory and branch are
detected. Adopted sessions are never destroyed for missing from the manifest.

A managed session that was removed from the state (see state rm) is adopted by its own
address. An import block in a manifest does the same with apply.`,
		Example: `  agentform adopt api tmux:default/work
  agentform adopt 'worker["web"]' tmux:/tmp/tmux-1000/mine/web
  agentform adopt api docker:old-one`,
		RunE: func(c *cobra.Command, args []string) error { return runAdopt(c.Context(), a, args[0], args[1]) },
	}
}

func runAdopt(ctx context.Context, a *app, typed, id string) error {
	p, s, err := a.openOptional()
	if err != nil {
		return err
	}
	address, err := newAddress(typed)
	if err != nil {
		return err
	}
	if project.Find(s.Sessions, address) != nil {
		return fmt.Errorf("%s is in the state already: adopt under another address, or take it off the record first: agentform state rm %s", address, quoted(address))
	}
	contained := strings.HasPrefix(id, "docker:")
	spec := p.Declared(address)
	switch {
	case !contained:
		if err := p.Host().Tmux(); err != nil {
			return err
		}
	case spec == nil:
		return fmt.Errorf("adopt %s: the manifest does not declare %s: a container needs a session block, with a runtime \"docker\" that names its image", id, address)
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
	found := rt.(session.Adopter).Find(ctx, id)
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
	asked := config.Request{Address: address, Dir: git.Look(l.Dir)}
	asked.Agent, asked.Command, asked.Args = recognizeAgent(p.Manifest.Agents, l.Command)
	spec, err := p.Manifest.Compose(asked)
	if err != nil {
		return nil, fmt.Errorf("adopt %s: %w", id, err)
	}
	return &spec, nil
}

var interpreters = []string{"node", "bun", "deno", "python", "python3", "ruby", "sh", "bash"}

// recognizeAgent returns the agent and arguments of a command line, or the line itself.
func recognizeAgent(agents map[string]config.Agent, argv []string) (name string, command, args []string) {
	if len(argv) == 0 {
		return "", nil, nil
	}
	program, rest := argv[0], argv[1:]
	if slices.Contains(interpreters, filepath.Base(program)) && len(rest) > 0 {
		program, rest = rest[0], rest[1:]
	}
	for _, name := range slices.Sorted(maps.Keys(agents)) {
		own := agents[name].Spec.Command
		if len(own) > 0 && filepath.Base(own[0]) == filepath.Base(program) && len(rest) >= len(own)-1 && slices.Equal(own[1:], rest[:len(own)-1]) {
			return name, nil, rest[len(own)-1:]
		}
	}
	return "", argv, nil
}
