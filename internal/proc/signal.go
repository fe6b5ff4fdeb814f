package proc

import (
	"fmt"
	"strings"
	"syscall"
)

// signalNames are the signals with the same name on Linux and macOS.
var signalNames = map[syscall.Signal]string{
	syscall.SIGHUP: "SIGHUP", syscall.SIGINT: "SIGINT", syscall.SIGQUIT: "SIGQUIT", syscall.SIGILL: "SIGILL",
	syscall.SIGTRAP: "SIGTRAP", syscall.SIGABRT: "SIGABRT", syscall.SIGBUS: "SIGBUS", syscall.SIGFPE: "SIGFPE",
	syscall.SIGKILL: "SIGKILL", syscall.SIGUSR1: "SIGUSR1", syscall.SIGSEGV: "SIGSEGV", syscall.SIGUSR2: "SIGUSR2",
	syscall.SIGPIPE: "SIGPIPE", syscall.SIGALRM: "SIGALRM", syscall.SIGTERM: "SIGTERM", syscall.SIGXCPU: "SIGXCPU",
	syscall.SIGXFSZ: "SIGXFSZ", syscall.SIGVTALRM: "SIGVTALRM", syscall.SIGPROF: "SIGPROF", syscall.SIGIO: "SIGIO",
	syscall.SIGSYS: "SIGSYS",
}

// GroupSignals are the signals that an agent may send to its own process group and that by default
// end or stop a process. The shim catches and drops them. A caught signal has its default again
// after exec; an ignored one would stay ignored in the agent.
var GroupSignals = []syscall.Signal{
	syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU,
	syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGALRM, syscall.SIGVTALRM, syscall.SIGPIPE, syscall.SIGXCPU,
	syscall.SIGXFSZ,
}

func SignalName(s syscall.Signal) string {
	if name, ok := signalNames[s]; ok {
		return name
	}
	return fmt.Sprintf("SIG%d", int(s))
}

// ParseSignal parses the name of a signal that can end a process, with or without SIG. An empty
// name is SIGTERM.
func ParseSignal(name string) (syscall.Signal, error) {
	if name == "" {
		return syscall.SIGTERM, nil
	}
	full := strings.ToUpper(name)
	if !strings.HasPrefix(full, "SIG") {
		full = "SIG" + full
	}
	for s, n := range signalNames {
		if n == full {
			return s, nil
		}
	}
	return 0, fmt.Errorf("%.40q is not a signal that ends a process: expected SIGTERM, SIGINT, SIGHUP, …", name)
}
