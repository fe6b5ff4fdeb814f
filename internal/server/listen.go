package server

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// SocketName is the name of the unix socket in the folder of the project's sockets.
const SocketName = "hub.sock"

// ListenUnix listens at a path. The caller is the project's only hub, so a socket that is
// there was left by an earlier one. Only its owner can connect. Close removes the path.
func ListenUnix(path string) (net.Listener, error) {
	fail := func(err error) (net.Listener, error) {
		return nil, fmt.Errorf("listen on the hub's socket: %w", err)
	}
	if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeSocket == 0 {
		return fail(fmt.Errorf("%s is no socket: remove it", path))
	}
	// The socket gets its mode under another name, which is short enough for a socket.
	folder, err := os.MkdirTemp(filepath.Dir(path), ".h")
	if err != nil {
		return fail(err)
	}
	defer os.RemoveAll(folder)
	made := filepath.Join(folder, "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: made, Net: "unix"})
	if err != nil {
		return fail(err)
	}
	l.SetUnlinkOnClose(false)
	info, err := os.Lstat(made)
	if err == nil {
		err = os.Chmod(made, 0o600)
	}
	if err == nil {
		err = os.Rename(made, path)
	}
	if err != nil {
		return fail(errors.Join(err, l.Close()))
	}
	return &unixListener{Listener: l, path: path, info: info}, nil
}

// unixListener removes its path when it is closed, unless another hub has replaced it.
type unixListener struct {
	net.Listener
	path string
	info os.FileInfo
	once sync.Once
}

// Close removes the path and stops listening.
func (d *unixListener) Close() error {
	d.once.Do(func() {
		if now, err := os.Lstat(d.path); err == nil && os.SameFile(now, d.info) {
			_ = os.Remove(d.path) // the next hub replaces it
		}
	})
	return d.Listener.Close()
}

// ListenTCP listens at HOST:PORT; the default host is 127.0.0.1. Since nothing is
// encrypted, the host must be a loopback address unless remote is set. It returns the
// host's name, or nothing if that is an address.
func ListenTCP(address string, remote bool) (l net.Listener, host string, err error) {
	host, _, err = net.SplitHostPort(address)
	if err != nil {
		return nil, "", fmt.Errorf("listen at %q: want HOST:PORT, such as 127.0.0.1:7171", address)
	}
	if host == "" {
		host, address = "127.0.0.1", "127.0.0.1"+address
	}
	l, err = net.Listen("tcp", address)
	if err != nil {
		return nil, "", fmt.Errorf("listen at %s: %w", address, err)
	}
	at := netip.MustParseAddrPort(l.Addr().String()).Addr()
	if !at.IsLoopback() && !remote {
		_ = l.Close()
		return nil, "", fmt.Errorf("listen at %s: other machines reach this address, and what is sent there, the token too, is not encrypted\nlisten at 127.0.0.1 and connect with ssh -L, or set --allow-remote", address)
	}
	if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		host = ""
	}
	return l, host, nil
}
