package program

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/agentform/agentform/internal/proc"
)

// inputWaiting is FIONREAD, the ioctl for the number of readable bytes.
const inputWaiting = 0x4004667f

// becomeSubreaper does nothing: macOS has no subreapers.
func becomeSubreaper() error { return nil }

// executable returns the path of this program.
func executable() (string, error) { return os.Executable() }

// attributes returns the default ones: macOS has no parent-death signal.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }

// moreKillable does nothing: macOS has no such score.
func moreKillable(int) (undo func()) { return func() {} }

// watchSignals drops the signals to the process group, and returns a channel that receives when the
// terminal hangs up.
func watchSignals() <-chan os.Signal {
	drop, hangup := make(chan os.Signal, 1), make(chan os.Signal, 1)
	for _, s := range proc.GroupSignals {
		signal.Notify(drop, s)
	}
	signal.Notify(hangup, syscall.SIGHUP)
	return hangup
}

// dieOf ends this process by one of the signals whose default Go's runtime keeps. It returns for
// any other.
func dieOf(s syscall.Signal) {
	switch s {
	case syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL:
		signal.Reset(s)
		syscall.Kill(os.Getpid(), s)
		time.Sleep(time.Second)
	}
}

// lasting returns nothing: macOS has no path that follows a directory's move.
func lasting(string) string { return "" }
