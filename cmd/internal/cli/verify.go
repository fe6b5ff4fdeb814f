package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/action/target"
	"github.com/agentform/agentform/cmd/internal/exit"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/cmd/internal/streams"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/internal/verify"
	"github.com/agentform/agentform/session"
)

func verifyCommand(a *app) *cobra.Command {
	var o sessionArgs
	c := &cobra.Command{
		Use:   "verify ADDR...",
		Short: "Run the command that has to succeed before work counts",
		Long: `Runs the command of a session's verify block now, where its agent works, and records whether
the commit of its branch is verified. The hub and apply --wait do that when a turn has ended.

The agent must rest, and is sent nothing. What is not committed, a change of a protected file,
or a command that changes the workspace counts as a failure. The whole output is kept:
agentform logs --verify prints it.

Exit 1 if work is not verified.`,
		Example: `  agentform verify api
  agentform verify --all
  agentform verify api --json`,
		RunE: func(c *cobra.Command, args []string) error {
			if err := o.set(c, args); err != nil {
				return err
			}
			return runVerify(c.Context(), a, o)
		},
	}
	o.register(a, c, "sessions")
	return c
}

func runVerify(ctx context.Context, a *app, o sessionArgs) error {
	p, _, named, err := o.open(a)
	if err != nil {
		return err
	}
	e := project.Fleet(p)
	seen, err := e.Look(ctx)
	if err != nil {
		return err
	}
	var all []status.Input
	var resting []session.Address
	for _, address := range named {
		k := seen.Of(address)
		switch {
		case k.Record == nil:
			return target.NotApplied(address)
		case o.ByFlag() && !k.Record.Spec.Verify.Declared():
		case o.ByFlag() && rests(k.Diagnosis.State):
			resting = append(resting, address)
		default:
			all = append(all, k)
		}
	}
	reportLeftOut(a, resting)
	if len(all) == 0 {
		a.Say("No sessions to verify.")
		return nil
	}
	access := target.Verifications(p, e, seen, p.Reconciler(project.ToAct))
	results := make([]view.Verification, len(all))
	begun := forEach(ctx, a, len(all), func(ctx context.Context, i int) { results[i] = verifyOne(ctx, a, p, access, all[i]) })
	return endVerify(a, results[:begun], len(all))
}

// verifyOne verifies the work of one session.
func verifyOne(ctx context.Context, a *app, p *project.Project, access verify.Access, k status.Input) (x view.Verification) {
	r := *k.Record
	x.Address = r.Address
	fail := func(err error) view.Verification {
		x.Err = ofSession(r.Address, err)
		return x
	}
	switch does := status.Of(k).Activity; {
	case !r.Spec.Verify.Declared():
		return fail(errors.New("it has no verify block"))
	case k.Diagnosis.State == session.StateUnknown:
		x.Err = project.ErrUnknown(p, r, k.Diagnosis)
		return x
	case does == session.Working || does == session.Blocked || does == session.Booting:
		return fail(fmt.Errorf("it is %s: its work is verified when its turn has ended\nagentform wait %s waits for that", does, target.Quoted(r.Address)))
	}
	doing := func(ctx context.Context) (session.Doing, error) {
		s, err := project.Fleet(p).Look(ctx)
		if err != nil || s.Of(r.Address).Record == nil {
			return session.Doing{}, err
		}
		return s.Of(r.Address).Doing(), nil
	}
	v, err := access.Verifier(target.Verifiable(k), doing)
	if err != nil {
		return fail(err)
	}
	now, output, err := v.Once(ctx)
	if err != nil {
		return fail(err)
	}
	r.Verified = &now
	x.Verified, x.Output = status.VerifiedOf(r), output
	return x
}

func endVerify(a *app, results []view.Verification, all int) error {
	var errs []error
	red := 0
	for _, x := range results {
		switch {
		case x.Err != nil:
			errs = append(errs, x.Err)
			continue
		case !x.Verified.OK:
			red++
		}
		if a.JSON {
			continue
		}
		if err := view.Verified(a.Out, a.OutStyle(), x); err != nil {
			return err
		}
	}
	if a.JSON {
		if err := view.VerifiedJSON(a.Out, results); err != nil {
			return err
		}
	}
	m := view.Many{Verb: "verified", All: all, Done: len(results) - len(errs) - red, Failed: len(errs) + red, Left: all - len(results)}
	if err := endMany(a, m, a.Err, errs); err != nil {
		return err
	}
	if red > 0 {
		return exit.Error
	}
	return nil
}

// runVerifyLogs prints what the commands of the last verifications printed.
func runVerifyLogs(ctx context.Context, a *app, o logsOptions, records []session.Record) error {
	tails := make([]view.Tail, len(records))
	var errs []error
	for i, r := range records {
		tails[i] = view.Tail{Address: r.Address}
		text, err := verifyLog(ctx, a, r)
		if err != nil {
			tails[i].Err = ofSession(r.Address, err)
			errs = append(errs, tails[i].Err)
			continue
		}
		tails[i].Text = lastLines(o.tail, text)
		if a.JSON {
			continue
		}
		if len(records) > 1 {
			if err := view.Title(a.Out, a.OutStyle(), r.Address); err != nil {
				return err
			}
		}
		if _, err := io.WriteString(a.Out, plaintext.Safe(tails[i].Text)); err != nil {
			return err
		}
	}
	if a.JSON {
		if err := printTails(a, tails, len(records) == 1 && !o.ByFlag()); err != nil {
			return err
		}
	}
	return endMany(a, view.Many{Verb: "printed the logs of", All: len(records), Done: len(records) - len(errs), Failed: len(errs)}, nil, errs)
}

// verifyLog returns what the command of a session's last verification printed. It is read where the
// agent works.
func verifyLog(ctx context.Context, a *app, r session.Record) (string, error) {
	if r.Verified == nil {
		return "", fmt.Errorf("its work was never verified\nagentform verify %s does that", target.Quoted(r.Address))
	}
	if r.Verified.Log == "" {
		return "", fmt.Errorf("no output was kept: %s", r.Verified.Detail)
	}
	c, err := commandIn(ctx, a, r, execOptions{argv: []string{"cat", r.Verified.Log}}, false)
	if err != nil {
		return "", err
	}
	var out, said bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr = nil, &out, &said
	code, err := streams.Foreground(c)
	if err == nil && code != 0 {
		err = fmt.Errorf("read %s: %s", r.Verified.Log, plaintext.OneLine(said.String()))
	}
	return out.String(), err
}
