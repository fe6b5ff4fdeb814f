package kubernetes

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path"
	"regexp"
	"strings"
	"syscall"

	"golang.org/x/term"
	"k8s.io/client-go/tools/remotecommand"

	"github.com/agentform/agentform/internal/excerpt"
	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/session"
)

// ExecMain executes a command in a session's pod, with this process's standard input and output,
// and returns the exit status. args are --kubeconfig, --context, --namespace, --tty, --hold to end the command
// when this process no longer reaches the pod, --env for each variable of this process to pass on, the pod's
// name, two dashes and the command.
func ExecMain(ctx context.Context, args []string, in, out, said *os.File) int {
	var c Config
	var terminal, held bool
	flags := flag.NewFlagSet("kubernetes-exec", flag.ContinueOnError)
	flags.SetOutput(said)
	flags.StringVar(&c.Kubeconfig, "kubeconfig", "", "")
	flags.StringVar(&c.Context, "context", "", "")
	flags.StringVar(&c.Namespace, "namespace", "", "")
	flags.BoolVar(&terminal, "tty", false, "")
	flags.BoolVar(&held, "hold", false, "")
	var env []string
	flags.Func("env", "", func(name string) error {
		env = append(env, name)
		return nil
	})
	if err := flags.Parse(args); err != nil {
		return 2
	}
	rest := flags.Args()
	if len(rest) < 3 || rest[1] != "--" {
		fmt.Fprintln(said, "usage: agentform kubernetes-exec [--tty] [--env=NAME…] POD -- COMMAND…")
		return 2
	}
	err := execHere(ctx, c, rest[0], rest[2:], env, terminal, held, in, out, said)
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

func execHere(ctx context.Context, c Config, pod string, argv, env []string, terminal, held bool, in, out, said *os.File) error {
	k, err := connect(c)
	if err != nil {
		return err
	}
	if held {
		client, release := holdClient(ctx, k, pod)
		defer release()
		argv = append([]string{"env", shim.ClientVariable + "=" + client}, argv...)
	}
	if argv, err = k.giveEnv(ctx, pod, exports(env, os.LookupEnv), argv); err != nil {
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

// holdClient makes the init of a pod end the processes with the client's mark once this process has ended or
// no longer reaches the pod: a cluster keeps running what a lost client has executed with a terminal. If the
// init does not answer, the terminal is attached all the same.
func holdClient(ctx context.Context, c *cluster, pod string) (client string, release func()) {
	client = rand.Text()
	var set statefulSet
	unknown := c.get(ctx, statefulSets, strings.TrimSuffix(pod, podName("")), &set)
	k, lost := set.record()
	if unknown != nil || lost != nil {
		return client, func() {}
	}
	return client, shim.HoldThrough(ctx, client, func(ctx context.Context, in io.Reader, out io.Writer) {
		_ = c.exec(ctx, pod, []string{k.Program, shim.RelayMode, shim.InitFolder + "/" + shim.InitSocket}, streams{in: in, out: out})
	})
}

// variable is the name of a variable that a shell can export.
var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// exports returns a shell script that sets variables. It omits unset variables, and names that are
// not valid in a shell, such as those of bash's functions.
func exports(names []string, lookup func(string) (string, bool)) string {
	var text strings.Builder
	for _, name := range names {
		if value, set := lookup(name); set && variable.MatchString(name) {
			fmt.Fprintf(&text, "export %s='%s'\n", name, strings.ReplaceAll(value, "'", `'\''`))
		}
	}
	return text.String()
}

// giveEnv writes the output of exports to a file in the pod's memory, and returns withEnv for it.
func (c *cluster) giveEnv(ctx context.Context, pod, text string, argv []string) ([]string, error) {
	if text == "" {
		return argv, nil
	}
	file := path.Join(shim.InitFolder, "env-"+rand.Text())
	said := excerpt.Tail{Limit: 4 << 10}
	err := c.exec(ctx, pod, []string{"sh", "-c", `umask 077; cat >"$1"`, "sh", file}, streams{in: strings.NewReader(text), err: &said})
	if err != nil {
		return nil, fmt.Errorf("pass on the environment: %w %s", err, strings.TrimSpace(said.String()))
	}
	return withEnv(file, argv), nil
}

// withEnv returns the command line that reads the output of exports from a file, then executes
// argv.
func withEnv(file string, argv []string) []string {
	return append([]string{"sh", "-c", `set -- "$(cat "$1")" "$@" && rm -f "$2" && eval "$1" && shift 2 && exec "$@"`, "sh", file}, argv...)
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

// Next waits for the next size, or returns nil at the end.
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
