package state

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// The lineage is what live sessions are marked with, so it must outlive the
// state file: it stands in a file of its own beside it, and a state that is
// begun anew takes it up. Thus what is alive can be adopted again.

var lineageForm = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// Lineage is the lineage that a state begun at path would have: that of an
// earlier state file there, as its own file or the copies of the records tell. It is
// empty when there was none.
func Lineage(path string) (string, error) {
	l, _, err := identity(path)
	if l == "" && err == nil {
		l = mirroredLineage(path)
	}
	return l, err
}

// identity reads the lineage, and the path of the state file that it was last
// kept for.
func identity(path string) (lineage, home string, err error) {
	b, err := readRegular(lineageOf(path))
	if errors.Is(err, os.ErrNotExist) {
		return "", "", nil
	}
	if err != nil {
		return "", "", fmt.Errorf("read lineage: %w", err)
	}
	lineage, home, _ = strings.Cut(strings.TrimSuffix(string(b), "\n"), "\n")
	if !lineageForm.MatchString(lineage) {
		return "", "", fmt.Errorf("read lineage %s: it is damaged; to restore it from what the sessions left: agentform state rebuild", lineageOf(path))
	}
	return lineage, home, nil
}

// CopiedError is a state that was copied together with its folder: its sessions
// are those of the original, and must not be touched from the copy.
type CopiedError struct{ Path, Original string }

// Error says whose it is, and how to go on.
func (e *CopiedError) Error() string {
	return fmt.Sprintf("read state %s: it is a copy of %s, to which its sessions belong; nothing was changed; to start a separate project, delete the copy: rm -r %s",
		e.Path, e.Original, filepath.Dir(e.Path))
}

// original refuses a copy. What was moved, so that nothing is left where it was,
// is no copy.
func original(path string) error {
	lineage, home, err := identity(path)
	if err != nil || home == "" || home == canonical(path) || sameFile(filepath.Dir(home), filepath.Dir(path)) {
		return err // a link at the old place leads to where it was moved
	}
	if there, _, err := identity(home); err != nil || there != lineage {
		return nil
	}
	return &CopiedError{Path: path, Original: home}
}

// keepLineage sees to it that the lineage outlives the state file, and that a
// copy of both is told from the original.
func keepLineage(path, lineage string) error {
	if kept, home, err := identity(path); err == nil && kept == lineage && home == canonical(path) {
		return nil
	}
	if _, err := replace(lineageOf(path), []byte(lineage+"\n"+canonical(path)+"\n")); err != nil {
		return fmt.Errorf("keep lineage: %w", err)
	}
	return nil
}

// canonical is a path in one form, whatever links lead there.
func canonical(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		path = filepath.Join(dir, filepath.Base(path))
	}
	return path
}

func lineageOf(path string) string { return path + ".lineage" }
