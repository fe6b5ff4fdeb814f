//go:build !linux

package tmux

import "net"

// listener returns 0: it is unknown here, so that the user has to end a server that does
// not exit.
func listener(net.Conn) int { return 0 }
