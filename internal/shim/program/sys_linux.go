package program

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// inputWaiting is the ioctl that tells how much can be read: FIONREAD.
const inputWaiting = syscall.TIOCINQ

// becomeSubreaper makes the kernel hand the shim every orphan below it, in
// place of init.
func becomeSubreaper() error {
	const prSetChildSubreaper = 36
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, prSetChildSubreaper, 1, 0); errno != 0 {
		return os.NewSyscallError("prctl", errno)
	}
	return nil
}

// attributes keep the agent in the shim's process group and session, with the
// terminal, and have the kernel kill it when the shim dies. The kernel means
// the thread that started it, so that thread must last: see shim.parent.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

const oomFile = "/proc/self/oom_score_adj"

// moreKillable makes this process, and what it starts, likelier than others to
// be killed when memory runs out, and returns what undoes it. A child inherits
// the value, so the agent never runs without it. Failing is no harm.
func moreKillable(by int) (undo func()) {
	old, err := os.ReadFile(oomFile)
	if err != nil {
		return func() {}
	}
	now, err := strconv.Atoi(strings.TrimSpace(string(old)))
	if err != nil {
		return func() {}
	}
	set := func(v int) { _ = os.WriteFile(oomFile, []byte(strconv.Itoa(v)), 0) }
	set(min(now+by, 1000))
	return func() { set(now) }
}

// dieOf ends this process by a signal. Go's own handlers are taken away below
// the runtime's feet, because it prints a traceback for some of them. It returns
// only if the signal does not end a process.
func dieOf(s syscall.Signal) {
	_ = syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{})
	var action [64]byte // all zero: SIG_DFL, no flags, empty mask
	_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(s), uintptr(unsafe.Pointer(&action)), 0, 8, 0, 0)
	syscall.Kill(os.Getpid(), s)
	time.Sleep(time.Second)
}

// lasting returns a path that leads to a directory also after it was moved, for as long
// as this process runs; empty if there is none.
func lasting(dir string) string {
	fd, err := syscall.Open(dir, syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return ""
	}
	return "/proc/self/fd/" + strconv.Itoa(fd)
}
