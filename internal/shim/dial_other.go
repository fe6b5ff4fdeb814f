//go:build !linux

package shim

import (
	"fmt"
	"os"
)

// dial connects to a socket without following a link in its place.
func dial(path string) (*os.File, error) {
	if info, err := os.Lstat(path); err != nil {
		return nil, err
	} else if info.Mode().Type() != os.ModeSocket {
		return nil, fmt.Errorf("%s: not a socket", path)
	}
	return Connect(path)
}
