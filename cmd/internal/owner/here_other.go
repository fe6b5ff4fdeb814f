//go:build !linux

package owner

import "golang.org/x/sys/unix"

// machine returns an id of the host: the hardware's, or else the host's name, which
// can change from one network to the next.
func machine(host string) string {
	if id, err := unix.Sysctl("kern.uuid"); err == nil && id != "" {
		return digest(id)
	}
	return digest(host)
}

// pidNamespace returns nothing: there are no pid namespaces.
func pidNamespace() string { return "" }
