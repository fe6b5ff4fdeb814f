package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/action/choose"
	"github.com/agentform/agentform/cmd/internal/action/edit"
	"github.com/agentform/agentform/cmd/internal/action/reconcile"
	"github.com/agentform/agentform/cmd/internal/action/target"
	"github.com/agentform/agentform/cmd/internal/doctor"
	"github.com/agentform/agentform/cmd/internal/exit"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/state"
)

func doctorCommand(a *app) *cobra.Command {
	var fix, moved, try bool
	c := &cobra.Command{
		Use:   "doctor [ADDR]",
		Short: "Check the installation and find orphans",
		Long: `Checks programs, directories, the agents of sessions with their versions and logins, the
state and its lock, and finds running sessions that are not in the state and workspaces that
no session uses. Each finding has a remedy. Nothing is changed without --fix. Exit 1 means
that agentform cannot work.

--fix adds settings that some agents read only from your own files, such as the approval of
an API key, without which they ask at every start. It also repairs the worktrees and the
state of a project that was moved while its sessions run. A project that was moved from
another file system looks like a copy and needs --fix --moved.

--notify sends a test notification to the target of every notify block. Nothing is sent
without it.

With ADDR, doctor examines one session: whether its agent runs, whether its tmux session or
container and its shim can be reached, and where its agent's own session file was looked
for, with the files that are there. It prints the commands to check these manually.`,
		Example: "  agentform doctor --json\n  agentform doctor --fix\n  agentform doctor --notify\n  agentform doctor api",
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case moved && !fix:
				return exit.Usage(c.CommandPath(), errors.New("--moved needs --fix"))
			case len(args) == 0:
				return runDoctor(c.Context(), a, fix, moved, try)
			case fix, try:
				return exit.Usage(c.CommandPath(), errors.New("--fix and --notify are for the whole project: omit the address"))
			}
			return runDoctorSession(c.Context(), a, args[0])
		},
	}
	c.Flags().BoolVar(&fix, "fix", false, "add missing settings to the agents' own files, such as ~/.claude.json; repair a moved project")
	c.Flags().BoolVar(&try, "notify", false, "send a test notification to the target of every notify block")
	c.Flags().BoolVar(&moved, "moved", false, "with --fix: the project was moved here, also if it looks like a copy; the original no longer exists")
	return c
}

func runDoctor(ctx context.Context, a *app, fix, moved, try bool) error {
	p := a.Open()
	in := doctor.Input{
		Host: p.Host(), Problems: p.Problems, State: p.State, Owner: p.Owner(), Shared: p.Stored.Shared(), User: p.Who().User, Check: p.Check,
		Reconciler: p.Reconciler(project.ToRead),
		Change: func(ctx context.Context, change func(*state.Store) error) error {
			p.Moving = true
			defer func() { p.Moving = false }()
			backup, err := edit.Change(ctx, p, change)
			sayBackups(a, backup)
			return err
		},
	}
	if try {
		in.Notify = p.TryNotify
	}
	return printFindings(a, doctor.Project(ctx, in, fix, moved))
}

func runDoctorSession(ctx context.Context, a *app, typed string) error {
	p, s, err := observe(ctx, a)
	if err != nil {
		return err
	}
	address, err := choose.One(declaredIn(p, s), typed)
	if err != nil {
		return err
	}
	k := s.Of(address)
	if k.Record == nil {
		return fmt.Errorf("%s is in the manifest and was not applied yet\nagentform apply --target %s creates it", address, target.Quoted(address))
	}
	return printFindings(a, doctor.Session(doctor.SessionInput{
		Input: k, RunDir: p.RunDir(k.Record.Run.ID), Environ: a.Environ, Activity: p.Activity(),
	}))
}

func printFindings(a *app, found []doctor.Finding) (err error) {
	if a.JSON {
		err = view.DoctorJSON(a.Out, found)
	} else {
		err = view.Doctor(a.Out, a.OutStyle(), found)
		st, _ := state.Read(a.Open().State) // a finding says what is wrong with it
		reportHub(a, a.Open(), reconcile.HubNeeds(st.Sessions))
	}
	if err == nil && slices.ContainsFunc(found, func(f doctor.Finding) bool { return f.Level == doctor.Fault }) {
		return exit.Error
	}
	return err
}
