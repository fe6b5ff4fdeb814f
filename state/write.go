package state

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2"
)

// replace is atomic: a temporary file, fsync, rename, fsync of the directory. replaced with an
// error means that the file may not survive a crash of the machine.
func replace(path string, text []byte) (replaced bool, err error) {
	folder := filepath.Dir(path)
	f, err := renameio.NewPendingFile(path, renameio.WithTempDir(folder), renameio.WithStaticPermissions(0o600))
	if err != nil {
		return false, writeError(path, err)
	}
	defer f.Cleanup()
	if _, err := f.Write(text); err != nil {
		return false, writeError(path, err)
	}
	if err := f.CloseAtomicallyReplace(); err != nil {
		return false, writeError(path, err)
	}
	if err := syncFolder(folder); err != nil {
		return true, fmt.Errorf("write %s: it is written, but may not survive a crash: %w", path, err)
	}
	return true, nil
}

// writeError names the file once: an error of the system names it, too, or a temporary one.
func writeError(path string, err error) error {
	if e := (*os.PathError)(nil); errors.As(err, &e) {
		err = e.Err
	}
	return fmt.Errorf("write %s: %w", path, err)
}

func syncFolder(folder string) error {
	d, err := os.Open(folder)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// backup runs before the first write, so that an apply without changes keeps an older backup.
// It makes a link if the file system has links.
func backup(path string) error {
	link := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+"0") // sweep removes it
	err := removeFile(link)
	if err == nil {
		err = os.Link(path, link)
	}
	if err == nil {
		return os.Rename(link, backupOf(path))
	}
	b, err := readRegular(path)
	if err == nil {
		_, err = replace(backupOf(path), b)
	}
	if err != nil {
		return fmt.Errorf("back up state: %w", err)
	}
	return nil
}

// sweep removes the temporary files of killed writers.
func sweep(path string) {
	entries, _ := os.ReadDir(filepath.Dir(path))
	for _, e := range entries {
		if rest, ours := strings.CutPrefix(e.Name(), "."+filepath.Base(path)); ours && strings.IndexAny(rest, "0123456789") == 0 {
			_ = os.Remove(filepath.Join(filepath.Dir(path), e.Name()))
		}
	}
}
