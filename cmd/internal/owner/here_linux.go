package owner

import (
	"os"
	"strings"
)

// firstNamespace is the pid namespace that a machine boots with, a constant of the kernel
// (PROC_PID_INIT_INO in include/linux/proc_ns.h).
const firstNamespace = "pid:[4026531836]"

// machine returns an id of the host. It includes the host's name, since images and containers share
// the machine id or have none.
func machine(host string) string {
	id, _ := os.ReadFile("/etc/machine-id") // without it only the name counts
	return digest(strings.TrimSpace(string(id)), host)
}

// pidNamespace returns the number of this process's pid namespace, or "" for a machine's first one.
func pidNamespace() string {
	name, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	return namespaceNumber(name)
}

func namespaceNumber(name string) string {
	if name == firstNamespace {
		return ""
	}
	return strings.TrimSuffix(strings.TrimPrefix(name, "pid:["), "]")
}
