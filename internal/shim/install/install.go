package install

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"github.com/agentform/agentform/internal/layout"
)

// Binary is the name of the shim's own program.
const Binary = "agentform-shim"

// Prefix is the prefix of installed programs' names.
const Prefix = "shim-"

// Install finds the shim's program next to the running executable, where release archives and `go
// install ./cmd/agentform...` put it, and copies it to DATA_DIR/bin/shim-<sha256>, so that an
// upgrade never touches a running shim. Without that program it uses the hidden subcommand shim of
// the running executable, without a copy. argv is the command to put before the run's directory.
func Install(dataDir string) (path string, argv []string, err error) {
	self, places, err := beside()
	if err != nil {
		return "", nil, fmt.Errorf("install shim: %w", err)
	}
	if err := layout.MakeDataDir(dataDir); err != nil {
		return "", nil, fmt.Errorf("install shim: %w", err)
	}
	for _, program := range places {
		path, err := keep(program, layout.Data{Dir: dataDir}.Programs(), Prefix)
		if err == nil {
			return path, []string{path}, nil
		}
		if !errors.Is(err, errNoBinary) {
			return "", nil, fmt.Errorf("install shim: %w", err)
		}
	}
	return self, []string{self, "shim"}, nil
}

// Command returns the command that Install would install, for a process that ends before this one;
// nil if it is not known.
func Command() []string {
	self, places, err := beside()
	if err != nil {
		return nil
	}
	for _, program := range places {
		if usable(os.Stat(program)) {
			return []string{program}
		}
	}
	return []string{self, "shim"}
}

// beside returns the running executable and the places to search for the shim's program.
func beside() (self string, places []string, err error) {
	if self, err = os.Executable(); err != nil {
		return "", nil, err
	}
	places = []string{filepath.Join(filepath.Dir(self), Binary)}
	if real, err := filepath.EvalSymlinks(self); err == nil && filepath.Dir(real) != filepath.Dir(self) {
		places = append(places, filepath.Join(filepath.Dir(real), Binary))
	}
	return self, places, nil
}

var errNoBinary = errors.New("no shim found")

// keep copies a program into a directory under a prefix and its digest and returns the copy's
// absolute path. An existing copy is reused.
func keep(program, folder, prefix string) (string, error) {
	src, err := os.Open(program)
	if err != nil {
		return "", errNoBinary
	}
	defer src.Close()
	info, err := src.Stat()
	if !usable(info, err) {
		return "", errNoBinary
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, src); err != nil {
		return "", err
	}
	folder, err = filepath.Abs(folder)
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, prefix+hex.EncodeToString(sum.Sum(nil)))
	if there, err := os.Lstat(path); err == nil && there.Mode().IsRegular() && there.Size() == info.Size() {
		return path, nil
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	if _, err := src.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	return path, copyProgram(src, path)
}

// copyProgram writes under another name and renames. No process may be forked meanwhile: if it
// inherits the open file, executing the copy fails with ETXTBSY.
func copyProgram(src io.Reader, path string) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	f, err := os.CreateTemp(filepath.Dir(path), "."+Prefix+"*")
	if err != nil {
		return err
	}
	_, err = io.Copy(f, src)
	if err == nil {
		err = f.Chmod(0o700)
	}
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
