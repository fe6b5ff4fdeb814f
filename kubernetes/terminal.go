package kubernetes

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"
	"k8s.io/client-go/tools/remotecommand"

	"github.com/agentform/agentform/session"
)

// ExecMain executes a command in a session's pod, with the standard input and output of
// this process, and returns its exit status. args are --kubeconfig, --context, --namespace,
// --tty, the pod's name, two dashes and the command.
func ExecMain(ctx context.Context, args []string, in, out, said *os.File) int {
	var c Config
	var terminal bool
	flags := flag.NewFlagSet("kubernetes-exec", flag.ContinueOnError)
	flags.SetOutput(said)
	flags.StringVar(&c.Kubeconfig, "kubeconfig", "", "")
	flags.StringVar(&c.Context, "context", "", "")
	flags.StringVar(&c.Namespace, "namespace", "", "")
	flags.BoolVar(&terminal, "tty", false, "")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	rest := flags.Args()
	if len(rest) < 3 || rest[1] != "--" {
		fmt.Fprintln(said, "usage: agentform kubernetes-exec [--tty] POD -- COMMAND…")
		return 2
	}
	err := execHere(ctx, c, rest[0], rest[2:], terminal, in, out, said)
	var exit *exitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.code
	}
	fmt.Fprintln(said, "agentform:", err)
	if errors.Is(err, session.ErrGone) {
		return 1
	}
	return 125
}

func execHere(ctx context.Context, c Config, pod string, argv []string, terminal bool, in, out, said *os.File) error {
	k, err := connect(c)
	if err != nil {
		return err
	}
	s := streams{in: in, out: out, err: said, terminal: terminal}
	if !terminal || !term.IsTerminal(int(in.Fd())) {
		return k.exec(ctx, pod, argv, s)
	}
	before, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return err
	}
	defer func() { _ = term.Restore(int(in.Fd()), before) }() // the terminal is gone
	sizes := newSizes(out)
	defer sizes.stop()
	s.sizes = sizes
	return k.exec(ctx, pod, argv, s)
}

// sizes reports the size of a terminal, and each change of it.
type sizes struct {
	of      *os.File
	changes chan os.Signal
	first   bool
}

func newSizes(of *os.File) *sizes {
	s := &sizes{of: of, changes: make(chan os.Signal, 1), first: true}
	signal.Notify(s.changes, syscall.SIGWINCH)
	return s
}

func (s *sizes) stop() {
	signal.Stop(s.changes)
	close(s.changes)
}

// Next waits for the next size; nil: there is none.
func (s *sizes) Next() *remotecommand.TerminalSize {
	if !s.first {
		if _, ok := <-s.changes; !ok {
			return nil
		}
	}
	s.first = false
	columns, rows, err := term.GetSize(int(s.of.Fd()))
	if err != nil {
		return nil
	}
	return &remotecommand.TerminalSize{Width: uint16(columns), Height: uint16(rows)}
}
