package program

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// inputWaiting is the ioctl for the number of readable bytes: FIONREAD.
const inputWaiting = syscall.TIOCINQ

// becomeSubreaper makes the shim, instead of init, the parent of every orphan below it.
func becomeSubreaper() error {
	const prSetChildSubreaper = 36
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, prSetChildSubreaper, 1, 0); errno != 0 {
		return os.NewSyscallError("prctl", errno)
	}
	return nil
}

// executable returns a path of this program that works even after its file was removed.
func executable() (string, error) { return "/proc/self/exe", nil }

// attributes keep the agent in the shim's process group and session, with the terminal, and make
// the kernel kill it when the shim dies. To the kernel the parent is the thread that started it. A
// thread of a Go program exits early only if a goroutine locked it, and the shim locks none.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

const oomFile = "/proc/self/oom_score_adj"

// moreKillable makes this process and its children likelier to be killed when memory runs out, and
// returns a function that undoes it. Children inherit the value, so the agent always runs with it.
// A failure does no harm.
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

// action is the kernel's struct sigaction.
type action struct{ handler, flags, restorer, mask uintptr }

func sigaction(s syscall.Signal, set, old *action) {
	_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(s), uintptr(unsafe.Pointer(set)), uintptr(unsafe.Pointer(old)), 8, 0, 0)
}

// watchSignals drops the signals to the process group, and returns a channel that receives when the
// terminal hangs up. It avoids os/signal, whose threads take as long to start as the rest of a
// shim.
//
// Go's runtime handles every signal but the stop signals, ignores most, and restores their defaults
// in a child. So watchSignals sets the deadly ones to ignored without the runtime, and gives the
// stop signals the handler of a signal that the runtime ignores.
func watchSignals() <-chan os.Signal {
	for _, s := range []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM} {
		const ignore = 1 // SIG_IGN
		sigaction(s, &action{handler: ignore}, nil)
	}
	var unnoticed action
	sigaction(syscall.SIGWINCH, nil, &unnoticed)
	for _, s := range []syscall.Signal{syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU} {
		sigaction(s, &unnoticed, nil)
	}
	hangup := make(chan os.Signal, 1)
	var size [2]int32 // struct winsize
	if errno := ioctl(0, syscall.TIOCGWINSZ, &size[0]); errno != 0 && errno != syscall.EIO {
		return hangup // no terminal
	}
	epoll, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil || syscall.EpollCtl(epoll, syscall.EPOLL_CTL_ADD, 0, &syscall.EpollEvent{}) != nil {
		return hangup
	}
	_ = syscall.SetNonblock(epoll, true) // os.NewFile then uses the runtime's poller
	terminal, err := os.NewFile(uintptr(epoll), "terminal").SyscallConn()
	if err == nil {
		go func() {
			_ = terminal.Read(func(fd uintptr) bool {
				n, _ := syscall.EpollWait(int(fd), make([]syscall.EpollEvent, 1), 0)
				return n > 0
			})
			hangup <- syscall.SIGHUP // hungUp may report it a moment later: the kernel wakes pollers first
		}()
	}
	return hangup
}

// dieOf ends this process by a signal. It removes Go's handlers without the runtime, which prints a
// traceback for some signals. It returns only if the signal does not end a process.
func dieOf(s syscall.Signal) {
	_ = syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{})
	sigaction(s, &action{}, nil)
	syscall.Kill(os.Getpid(), s)
	time.Sleep(time.Second)
}

// lasting returns a path to a directory that survives a move of it, while this process runs; empty
// if there is none.
func lasting(dir string) string {
	fd, err := syscall.Open(dir, syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return ""
	}
	return "/proc/self/fd/" + strconv.Itoa(fd)
}
