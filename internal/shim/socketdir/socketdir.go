package socketdir

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/agentform/agentform/internal/layout"
	"github.com/agentform/agentform/internal/shim/rundir"
)

// Create returns the directory for all sockets of a data directory: $XDG_RUNTIME_DIR/agentform/<8
// hex of sha256(its absolute path)>, or /tmp/agentform-<uid>/<8 hex> without XDG_RUNTIME_DIR. It
// creates the directory (0700). If the data directory has recorded one that is in use (Remember),
// Create returns that: a project keeps its sockets under another XDG_RUNTIME_DIR, as with cron and
// su. It fails if a directory on the way belongs to another user or is a link, or if the path is
// too long for a shim's socket.
func Create(dataDir string) (string, error) {
	abs, err := filepath.Abs(dataDir)
	if err != nil {
		return "", fmt.Errorf("socket directory of %s: %w", dataDir, err)
	}
	base, remedy := socketBase()
	name := socketName(abs)
	if kept, ok := keptSocketDir(abs, name); ok {
		return kept, nil
	}
	dir := filepath.Join(base, name)
	err = rundir.CheckSocket(filepath.Join(dir, "g-0123456789abcdef"))
	for _, d := range []string{base, dir} {
		if err == nil {
			err = ownDir(d)
		}
	}
	if err != nil {
		return "", fmt.Errorf("socket directory of %s: %w (%s)", abs, err, remedy)
	}
	return dir, nil
}

// Find returns what Create returns if the directory exists, and creates nothing.
func Find(dataDir string) (string, bool) {
	abs, err := filepath.Abs(dataDir)
	if err != nil {
		return "", false
	}
	name := socketName(abs)
	if kept, ok := keptSocketDir(abs, name); ok {
		return kept, true
	}
	base, _ := socketBase()
	dir := filepath.Join(base, name)
	if _, err := os.Lstat(dir); err != nil || ownDir(base) != nil || ownDir(dir) != nil {
		return "", false
	}
	return dir, true
}

// socketBase returns the parent of the data directories' socket directories, and a remedy if it
// cannot be used.
func socketBase() (base, remedy string) {
	if x := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(x) {
		return filepath.Join(x, "agentform"), "set XDG_RUNTIME_DIR to a short directory of your own, or unset it"
	}
	return filepath.Join("/tmp", "agentform-"+strconv.Itoa(os.Getuid())), "remove or rename it"
}

// socketName returns the name of the directory for a data directory's sockets.
func socketName(dataDir string) string {
	sum := sha256.Sum256([]byte(dataDir))
	return hex.EncodeToString(sum[:4])
}

// socketsFile in the data directory names the directory of its sockets.
const socketsFile = "sockets"

// Remember records in the data directory where its sockets are.
func Remember(dataDir, dir string) error {
	path := filepath.Join(dataDir, socketsFile)
	if b, _, err := rundir.ReadFile(path, 4096); err == nil && strings.HasPrefix(string(b), dir+"\n") {
		return nil
	}
	err := layout.MakeDataDir(dataDir)
	if err == nil {
		err = rundir.WriteFile(path, []byte(dir+"\n"), false)
	}
	if err != nil {
		return fmt.Errorf("record the directory of the sockets: %w", err)
	}
	return nil
}

// RememberMoved records in a data directory that was moved that its sockets stay in the directory
// named after the old path.
func RememberMoved(dataDir string) error {
	abs, err := filepath.Abs(dataDir)
	if err != nil {
		return fmt.Errorf("record the directory of the sockets: %w", err)
	}
	path := filepath.Join(abs, socketsFile)
	b, _, err := rundir.ReadFile(path, 4096)
	if errors.Is(err, os.ErrNotExist) {
		return nil // nothing was started yet
	}
	if err == nil {
		dir, _, _ := strings.Cut(string(b), "\n")
		err = rundir.WriteFile(path, []byte(dir+"\n"+abs+"\n"), false)
	}
	if err != nil {
		return fmt.Errorf("record the directory of the sockets: %w", err)
	}
	return nil
}

// keptSocketDir returns the recorded directory if it exists, belongs to this user, and is this data
// directory's: a copy of the data directory has another name. After a move the file has the new
// path on a second line.
func keptSocketDir(dataDir, name string) (string, bool) {
	b, _, err := rundir.ReadFile(filepath.Join(dataDir, socketsFile), 4096)
	dir, rest, _ := strings.Cut(string(b), "\n")
	if err != nil || !filepath.IsAbs(dir) || filepath.Base(dir) != name && rest != dataDir+"\n" {
		return "", false
	}
	if _, err := os.Lstat(dir); err != nil || ownDir(dir) != nil {
		return "", false
	}
	return dir, true
}

// ownDir makes sure that a directory exists, belongs to this user, and is closed to others.
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
		return fmt.Errorf("%s is not a directory", path)
	case !ok || int(stat.Uid) != os.Getuid():
		return fmt.Errorf("%s belongs to another user", path)
	case info.Mode().Perm() != 0o700:
		return os.Chmod(path, 0o700)
	}
	return nil
}
