//go:build !linux

package tmux

import "net"

// listener is not known here: there a server that does not leave is a person's to end.
func listener(net.Conn) int { return 0 }
