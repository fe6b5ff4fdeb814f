//go:build real

package cli_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/agentform/agentform/internal/test/wait"
)

// script is a script as what waits.
type script struct{ *testscript.TestScript }

// deadline is the key of the time at which a script is killed.
type deadline struct{}

func (s script) Helper() {}

// Deadline returns the deadline of the Go test that runs the script.
func (s script) Deadline() (time.Time, bool) {
	at, ok := s.Value(deadline{}).(time.Time)
	return at, ok
}

// commands are what scripts can say besides testscript's own.
var commands = map[string]func(ts *testscript.TestScript, neg bool, args []string){
	"exits":       exits,
	"waitfor":     waitfor,
	"jsonq":       jsonq,
	"save":        save,
	"killagent":   killAgent,
	"gone":        gone,
	"harmless":    harmless,
	"private":     private,
	"unseen":      unseen,
	"nothing":     nothingLives,
	"link":        link,
	"lock":        lock,
	"readenv":     readEnv,
	"readonly":    readOnly,
	"disk":        disk,
	"foreign":     foreign,
	"webhook":     webhook,
	"github":      github,
	"gitlab":      gitlab,
	"collector":   collector,
	"stateserver": startStateServer,
	"s3server":    startS3,
	"freeport":    freePort,
	"agekey":      ageKey,
}

// waitfor PATTERN COMMAND...: the command's standard output matches, sooner or
// later. ! waitfor: it does not any more.
func waitfor(ts *testscript.TestScript, neg bool, args []string) {
	pattern, what := regexp.MustCompile("(?m)"+args[0]), "the output matches "
	if neg {
		what = "the output does not match "
	}
	wait.For(script{ts}, what+strconv.Quote(args[0]), func() (any, bool) {
		_ = ts.Exec(args[1], args[2:]...) // a failure is a screen that is not there yet
		out := ts.ReadFile("stdout")
		return out, pattern.MatchString(out) != neg
	})
}

// killagent ADDR: kill -9 of the session's agent. It is gone, and its shim, which has
// recorded that before it left.
func killAgent(ts *testscript.TestScript, neg bool, args []string) {
	ts.Check(ts.Exec("agentform", "status", "--json", args[0]))
	pid, err := strconv.Atoi(query(ts, ts.ReadFile("stdout"), "sessions.0.pid"))
	ts.Check(err)
	ts.Check(ts.Exec("ps", "-o", "ppid=", "-p", strconv.Itoa(pid)))
	shim, err := strconv.Atoi(strings.TrimSpace(ts.ReadFile("stdout")))
	ts.Check(err)
	ts.Check(syscall.Kill(pid, syscall.SIGKILL))
	waitGone(ts, pid)
	waitGone(ts, shim)
}

// harmless COMMAND...: whatever its exit code, it prints nothing that a terminal
// would act on: no escape sequence, no control character of either set, none that
// changes the direction of writing.
func harmless(ts *testscript.TestScript, neg bool, args []string) {
	_ = ts.Exec(args[0], args[1:]...)
	harmful := func(r rune) bool {
		return unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r) || r == utf8.RuneError
	}
	for _, name := range []string{"stdout", "stderr"} {
		for line := range strings.Lines(ts.ReadFile(name)) {
			if strings.ContainsFunc(line, harmful) {
				ts.Fatalf("%s of %q: %q", name, args, line)
			}
		}
	}
}

// private FOLDER...: everything in it is its owner's alone. What lies in a
// workspace has the modes that git gives it, and is behind the directory's own.
func private(ts *testscript.TestScript, neg bool, args []string) {
	n := 0
	for _, folder := range args {
		ts.Check(filepath.WalkDir(ts.MkAbs(folder), func(path string, e fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := e.Info()
			switch n++; {
			case err != nil:
				return err
			case e.IsDir() && e.Name() == "workspaces":
				return fs.SkipDir
			case e.Type() == fs.ModeSymlink:
			case info.Mode().Perm()&0o077 != 0:
				ts.Fatalf("%s is %s", path, info.Mode())
			}
			return nil
		}))
	}
	if n < 5 {
		ts.Fatalf("only %d files are in %q", n, args)
	}
}

// unseen VALUE PROGRAM COMMAND...: as long as the command runs, and until PROGRAM has
// the value in its environment, no process has it in its command line, and no other
// one in its environment.
func unseen(ts *testscript.TestScript, neg bool, args []string) {
	value, program := args[0], args[1]
	ended, result := make(chan struct{}), make(chan string, 1)
	had := false
	go func() {
		for {
			wrong, has := holders(value, program)
			had = had || has
			select {
			case <-ended:
				result <- wrong
				return
			default:
			}
			if wrong != "" {
				result <- wrong
				return
			}
		}
	}()
	err := ts.Exec(args[2], args[3:]...)
	close(ended)
	wrong := <-result
	wait.For(script{ts}, program+" has "+value, func() (any, bool) {
		if wrong == "" && !had {
			wrong, had = holders(value, program)
		}
		return "", had || wrong != ""
	})
	if wrong != "" {
		ts.Fatalf("%s is in %s", value, wrong)
	}
	ts.Check(err)
}

// holders looks through all processes for a value: where it may not be, and
// whether program has it in its environment.
func holders(value, program string) (wrong string, has bool) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline") // fails only for a bad pattern
	for _, path := range files {
		command, _ := os.ReadFile(path) // gone meanwhile: has nothing
		environ, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "environ"))
		name, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "comm"))
		in := strings.Contains(string(environ), value)
		switch is := strings.TrimSpace(string(name)) == program; {
		case strings.Contains(string(command), value):
			return fmt.Sprintf("a command line: %q", command), false
		case in && !is:
			return fmt.Sprintf("the environment of %s: %q", name, command), false
		default:
			has = has || in
		}
	}
	return "", has
}

// gone PID...: none of these processes lives, or soon none will.
func gone(ts *testscript.TestScript, neg bool, args []string) {
	for _, a := range args {
		pid, err := strconv.Atoi(strings.TrimSpace(a))
		ts.Check(err)
		if neg {
			if !alive(pid) {
				ts.Fatalf("process %d is gone", pid)
			}
			continue
		}
		waitGone(ts, pid)
	}
}

func waitGone(ts *testscript.TestScript, pid int) {
	wait.For(script{ts}, fmt.Sprintf("process %d is gone", pid), func() (any, bool) { return "it lives", !alive(pid) })
}

// nothing lives: no process that the script started, no tmux server of it.
func nothingLives(ts *testscript.TestScript, neg bool, args []string) {
	if neg || fmt.Sprint(args) != "[lives]" {
		ts.Fatalf("usage: nothing lives")
	}
	wait.For(script{ts}, "nothing lives", func() (any, bool) {
		left := processes(ts.Getenv("SHORT"))
		return left, len(left) == 0
	})
}

// readonly FOLDER: nothing can be made in it, not even by root.
func readOnly(ts *testscript.TestScript, neg bool, args []string) {
	dir := ts.MkAbs(args[0])
	if os.Getuid() != 0 {
		ts.Check(os.Chmod(dir, 0o500))
		return
	}
	// Rights do not bind root: the kernel's own file system lets nobody in.
	ts.Check(os.Remove(dir))
	ts.Check(os.Symlink("/sys", dir))
}

// foreign FOLDER: makes it a directory of another user, empty, or where only root can do
// that, a link to one.
func foreign(ts *testscript.TestScript, neg bool, args []string) {
	dir := ts.MkAbs(args[0])
	if os.Getuid() != 0 {
		ts.Check(os.Symlink("/", dir))
		return
	}
	ts.Check(os.Mkdir(dir, 0o755))
	ts.Check(os.Chown(dir, 12345, -1))
}
