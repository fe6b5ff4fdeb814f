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

// executable returns what starts this program, also after its file was removed.
func executable() (string, error) { return "/proc/self/exe", nil }

// attributes keep the agent in the shim's process group and session, with the
// terminal, and have the kernel kill it when the shim dies. The kernel means the
// thread that started it: no thread of a Go program ends before the program but one
// that a goroutine locked, and the shim locks none.
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

// action is the kernel's struct sigaction.
type action struct{ handler, flags, restorer, mask uintptr }

func sigaction(s syscall.Signal, set, old *action) {
	_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(s), uintptr(unsafe.Pointer(set)), uintptr(unsafe.Pointer(old)), 8, 0, 0)
}

// watchSignals drops the signals to the process group, and returns a channel that tells
// when the terminal has hung up. It does without os/signal, whose threads take as long to
// start as all the rest of a shim.
//
// Go's runtime handles every signal but those that stop, takes no notice of most, and in
// a child undoes what it handles. So the deadly ones are ignored below its feet, and those
// that stop get the handler of one that it takes no notice of.
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
	_ = syscall.SetNonblock(epoll, true) // for os.NewFile: the runtime's own poller waits for it
	terminal, err := os.NewFile(uintptr(epoll), "terminal").SyscallConn()
	if err == nil {
		go func() {
			_ = terminal.Read(func(fd uintptr) bool {
				n, _ := syscall.EpollWait(int(fd), make([]syscall.EpollEvent, 1), 0)
				return n > 0
			})
			hangup <- syscall.SIGHUP // hungUp may take a moment more: the kernel wakes those that poll first
		}()
	}
	return hangup
}

// dieOf ends this process by a signal. Go's own handlers are taken away below
// the runtime's feet, because it prints a traceback for some of them. It returns
// only if the signal does not end a process.
func dieOf(s syscall.Signal) {
	_ = syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{})
	sigaction(s, &action{}, nil)
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
