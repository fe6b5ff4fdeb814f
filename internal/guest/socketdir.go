package guest

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
)

// socketLimit is the longest path of a unix socket, without its NUL: 108 bytes
// on Linux, 104 on macOS.
func socketLimit() int {
	if runtime.GOOS == "darwin" {
		return 103
	}
	return 107
}

func checkSocket(path string) error {
	if n, limit := len(path), socketLimit(); n > limit {
		return fmt.Errorf("the socket's path has %d bytes, the limit is %d: %s", n, limit, path)
	}
	return nil
}

// SocketDir is the folder for the sockets of everything that belongs to a data
// folder: $XDG_RUNTIME_DIR/agentform/<8 hex of sha256(its absolute path)>, or
// /tmp/agentform-<uid>/<8 hex> without XDG_RUNTIME_DIR. It creates the folder
// (0700). It fails if a folder on the way belongs to someone else or is a link,
// or if the path is too long for a guest's socket.
func SocketDir(dataDir string) (string, error) {
	abs, err := filepath.Abs(dataDir)
	if err != nil {
		return "", fmt.Errorf("socket folder of %s: %w", dataDir, err)
	}
	base := filepath.Join("/tmp", "agentform-"+strconv.Itoa(os.Getuid()))
	remedy := "remove or rename it"
	if x := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(x) {
		base = filepath.Join(x, "agentform")
		remedy = "set XDG_RUNTIME_DIR to a short folder of your own, or unset it"
	}
	sum := sha256.Sum256([]byte(abs))
	dir := filepath.Join(base, hex.EncodeToString(sum[:4]))
	err = checkSocket(filepath.Join(dir, "g-0123456789abcdef"))
	for _, d := range []string{base, dir} {
		if err == nil {
			err = ownDir(d)
		}
	}
	if err != nil {
		return "", fmt.Errorf("socket folder of %s: %w (%s)", abs, err, remedy)
	}
	return dir, nil
}

// ownDir makes sure that a folder is there, is ours, and is closed to others.
func ownDir(path string) error {
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.IsDir():
		return fmt.Errorf("%s is not a folder", path)
	case !ok || int(stat.Uid) != os.Getuid():
		return fmt.Errorf("%s belongs to another user", path)
	case info.Mode().Perm() != 0o700:
		return os.Chmod(path, 0o700)
	}
	return nil
}
