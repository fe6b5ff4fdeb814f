package cli_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/agentform/agentform/internal/environ"
	"github.com/agentform/agentform/state"
)

// exits CODE COMMAND...: the command ends with exactly that exit code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	want, err := strconv.Atoi(args[0])
	if neg || err != nil {
		ts.Fatalf("usage: exits CODE COMMAND...")
	}
	if got := exitStatus(ts, args[1], args[2:]...); got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// execute starts a program and returns its exit status.
func execute(ts *testscript.TestScript, name string, args ...string) int {
	err := ts.Exec(name, args...)
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return exit.ExitCode()
	}
	ts.Check(err)
	return 0
}

// jsonq PATH PATTERN: in the JSON that was printed last, the value at PATH
// (sessions.0.state; of an object list, a member by address: sessions.api.state)
// matches the whole pattern.
func jsonq(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: jsonq PATH PATTERN")
	}
	got := query(ts, ts.ReadFile("stdout"), args[0])
	if regexp.MustCompile("^(?:"+args[1]+")$").MatchString(got) == neg {
		ts.Fatalf("%s is %s", args[0], got)
	}
}

// save NAME PATH: the value at PATH in the JSON that was printed last becomes
// the environment variable NAME.
func save(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: save NAME PATH")
	}
	ts.Setenv(args[0], query(ts, ts.ReadFile("stdout"), args[1]))
}

// query returns the value at a path in a JSON text.
func query(ts *testscript.TestScript, text, path string) string {
	var value any
	ts.Check(json.Unmarshal([]byte(text), &value))
	for part := range strings.SplitSeq(path, ".") {
		switch v := value.(type) {
		case map[string]any:
			value = v[part]
		case []any:
			value = element(v, part)
		default:
			ts.Fatalf("%s: there is no %s in %v", path, part, value)
		}
	}
	if s, ok := value.(string); ok {
		return s
	}
	again, err := json.Marshal(value)
	ts.Check(err)
	return string(again)
}

// element is a list's member by its index, or by its name or address.
func element(list []any, part string) any {
	if i, err := strconv.Atoi(part); err == nil {
		if i < len(list) {
			return list[i]
		}
		return nil
	}
	for _, x := range list {
		if o, ok := x.(map[string]any); ok && (o["name"] == part || o["address"] == part || o["address"] == "session."+part) {
			return o
		}
	}
	return nil
}

// lock STATEFILE: somebody else is at work on it, until unlock or the end.
func lock(ts *testscript.TestScript, neg bool, args []string) {
	store, err := state.Open(context.Background(), ts.MkAbs(args[0]), "shop", "0.1.0",
		state.Holder{PID: os.Getpid(), User: "somebody", Host: "here", Command: "agentform apply", Since: time.Now()}, 0)
	ts.Check(err)
	done := sync.OnceFunc(func() { ts.Check(store.Close()) })
	ts.Defer(done)
	ts.SetCmd("unlock", func(*testscript.TestScript, bool, []string) { done() })
}

// readenv NAME FILE: the file's text becomes the environment variable NAME.
func readEnv(ts *testscript.TestScript, neg bool, args []string) {
	ts.Setenv(args[0], strings.TrimSpace(ts.ReadFile(args[1])))
}

// repository commits the files of the script.
func repository(e *testscript.Env) error {
	ignore := filepath.Join(e.WorkDir, ".gitignore")
	if _, err := os.Stat(ignore); err != nil {
		if err := os.WriteFile(ignore, []byte(".agentform/\n.tmp/\n"), 0o600); err != nil {
			return err
		}
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"commit", "-q", "-m", "a shop"}} {
		c := exec.Command("git", args...)
		c.Dir, c.Env = e.WorkDir, e.Vars
		if out, err := c.CombinedOutput(); err != nil {
			return fmt.Errorf("git %v: %w\n%s", args, err, out)
		}
	}
	return nil
}

// link PROGRAM FOLDER: a PATH that has this program and not its neighbours.
func link(ts *testscript.TestScript, neg bool, args []string) {
	path, found := environ.Vars{"PATH=" + ts.Getenv("PATH")}.Program(args[0], ts.MkAbs("."))
	if !found {
		ts.Fatalf("PATH has no %s", args[0])
	}
	ts.Check(os.Symlink(path, filepath.Join(ts.MkAbs(args[1]), args[0])))
}
