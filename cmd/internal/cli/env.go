package cli

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/mattn/go-isatty"
)

// Env is what agentform sees of the process that it runs in. A test gives
// another one.
type Env struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Environ        []string // NAME=VALUE
	Args           []string // without the program's name
	Dir            string   // the current folder, absolute
	Version        string   // of agentform; empty: dev
}

// Run carries out one command line and returns its exit code: 0 done, 1 error,
// 2 changes (with --detailed-exitcode), 3 work for fmt (with --check), 4 state
// locked by somebody else, 130 interrupted. Data goes to Stdout, everything
// else to Stderr.
func Run(ctx context.Context, env Env) int {
	if env.Version == "" {
		env.Version = "dev"
	}
	a := &app{env: env, typedIn: env.Dir}
	defer a.close()
	root := a.root()
	root.SetArgs(joined(doubleDashed(root, env.Args)))
	root.SetIn(env.Stdin)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	mendBash(root)
	mendHelp(root)
	return a.report(root.ExecuteContext(ctx))
}

// getenv is the value of an environment variable; empty: it is not set.
func (e Env) getenv(name string) string {
	v, _ := e.lookup(name)
	return v
}

// lookup is the value of an environment variable and whether it is set. Of
// several the last counts.
func (e Env) lookup(name string) (value string, set bool) {
	for _, kv := range e.Environ {
		if k, v, ok := strings.Cut(kv, "="); ok && k == name {
			value, set = v, true
		}
	}
	return value, set
}

// findCommand is the absolute path of a program on the environment's PATH, or
// of the one that the name itself leads to. It looks like a shell does: empty
// entries of PATH are the current folder.
func (e Env) findCommand(name, dir string) (path string, found bool) {
	if strings.ContainsRune(name, '/') {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		return name, executable(name)
	}
	for _, folder := range filepath.SplitList(e.getenv("PATH")) {
		if !filepath.IsAbs(folder) {
			folder = filepath.Join(dir, folder)
		}
		if p := filepath.Join(folder, name); executable(p) {
			return p, true
		}
	}
	return "", false
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// terminal reports whether a stream is a terminal: a person reads or types.
func terminal(stream any) bool {
	f, ok := stream.(interface{ Fd() uintptr })
	return ok && isatty.IsTerminal(f.Fd())
}
