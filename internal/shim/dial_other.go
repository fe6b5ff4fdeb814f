//go:build !linux

package shim

import (
	"context"
	"fmt"
	"net"
	"os"
)

// dial connects to a socket, and not to what a link in its place leads to.
func dial(ctx context.Context, path string) (net.Conn, error) {
	if info, err := os.Lstat(path); err != nil {
		return nil, err
	} else if info.Mode().Type() != os.ModeSocket {
		return nil, fmt.Errorf("%s: not a socket", path)
	}
	return (&net.Dialer{}).DialContext(ctx, "unix", path)
}
