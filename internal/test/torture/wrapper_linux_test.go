//go:build real

package torture

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A wrapper stands in the PATH before tmux or git, and is this test under their name. It
// hands over to the real program, except for the one call that is to meet a fault:
//
//	WORD NTH KIND   in the file NAME.fault beside it
//
// the nth call in whose arguments or standard input the word stands. What it meets:
//
//	error        it fails, having done nothing
//	late error   it does its work, and fails
//	killed       it is killed, having done nothing
//	cut          it does its work, prints half of the answer, and is killed
//	slow         it takes a while
//
// That it was met is in NAME.met.
const (
	kindError = "error"
	kindLate  = "late error"
	kindKill  = "killed"
	kindCut   = "cut"
	kindSlow  = "slow"
)

// injected is what a wrapper says when it fails.
const injected = "the fault that was asked for"

// wrap is the main function of one.
func wrap(path string, args []string) int {
	real, err := behind(path)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 127
	}
	word, nth, kind, err := order(path)
	if err != nil { // there is none
		err := syscall.Exec(real, append([]string{real}, args...), os.Environ())
		fmt.Fprintln(os.Stderr, err)
		return 127
	}
	var stdin []byte
	if fi, err := os.Stdin.Stat(); err == nil && fi.Mode()&os.ModeCharDevice == 0 {
		stdin, _ = io.ReadAll(os.Stdin)
	}
	if !strings.Contains(strings.Join(args, " ")+" "+string(stdin), word) || !isNth(path, nth) {
		kind = ""
	} else if err := os.WriteFile(path+".met", []byte(strings.Join(args, " ")), 0o600); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 127
	}
	switch kind {
	case kindError:
		fmt.Fprintln(os.Stderr, injected)
		return 1
	case kindKill:
		return end()
	case kindSlow:
		time.Sleep(400 * time.Millisecond)
	}
	c := exec.Command(real, args...)
	var out bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr = bytes.NewReader(stdin), &out, os.Stderr
	// What stays behind of it, a tmux server, must not hold the pipe of the answer.
	c.WaitDelay = 100 * time.Millisecond
	err = c.Run()
	text := out.Bytes()
	switch kind {
	case kindLate:
		fmt.Fprintln(os.Stderr, injected)
		return 1
	case kindCut:
		os.Stdout.Write(text[:len(text)/2])
		return end()
	}
	os.Stdout.Write(text)
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return exit.ExitCode()
	case err != nil && !errors.Is(err, exec.ErrWaitDelay):
		fmt.Fprintln(os.Stderr, err)
		return 127
	}
	return 0
}

// end is an end by SIGKILL.
func end() int {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// behind is the program that a wrapper stands before.
func behind(path string) (string, error) {
	dirs := slices.DeleteFunc(filepath.SplitList(os.Getenv("PATH")), func(d string) bool { return d == filepath.Dir(path) })
	for _, d := range dirs {
		if real := filepath.Join(d, filepath.Base(path)); exec.Command(real).Err == nil {
			if _, err := os.Stat(real); err == nil {
				return real, nil
			}
		}
	}
	return "", fmt.Errorf("no %s behind the shim in %v", filepath.Base(path), dirs)
}

func order(path string) (word string, nth int, kind string, err error) {
	text, err := os.ReadFile(path + ".fault")
	if err != nil {
		return "", 0, "", err
	}
	f := strings.SplitN(string(text), "\t", 3)
	nth, err = strconv.Atoi(f[1])
	return f[0], nth, f[2], err
}

// isNth counts the call, and reports whether it is that one.
func isNth(path string, nth int) bool {
	f, err := os.OpenFile(path+".count", os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return false
	}
	defer f.Close()
	if syscall.Flock(int(f.Fd()), syscall.LOCK_EX) != nil {
		return false
	}
	if _, err := f.WriteString("."); err != nil {
		return false
	}
	fi, err := f.Stat()
	return err == nil && int(fi.Size()) == nth
}
