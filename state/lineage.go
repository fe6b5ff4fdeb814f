package state

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/agentform/agentform/internal/fileid"
	"github.com/agentform/agentform/internal/remedy"
	"github.com/agentform/agentform/session"
)

// Live sessions are marked with the lineage, so it must outlive the state file. It has its own
// file, and a new state continues it: live sessions can then be adopted again.

var lineageForm = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// Lineage returns the lineage of a new state at path: that of an earlier one, by its file or
// by the copies of the records, also in outputs, or "".
func Lineage(path string, outputs ...string) (string, error) {
	k, err := identity(path)
	if k.lineage == "" && err == nil {
		return mirroredLineage(path, outputs), nil
	}
	return k.lineage, err
}

type lineageFile struct {
	lineage string
	home    string // the path of the state file
	id      string // the identity of the state file's directory; empty: not known
}

var identityForm = regexp.MustCompile(`^[0-9a-f]+(\.-?[0-9a-f]+)?$`)

// identity reads the lineage file, if any.
func identity(path string) (k lineageFile, err error) {
	b, err := readRegular(lineageOf(path))
	if errors.Is(err, os.ErrNotExist) {
		return lineageFile{}, nil
	}
	if err != nil {
		return lineageFile{}, fmt.Errorf("read lineage: %w", err)
	}
	k.lineage, k.home, _ = strings.Cut(strings.TrimSuffix(string(b), "\n"), "\n")
	if !lineageForm.MatchString(k.lineage) {
		return k, errors.New(remedy.With(fmt.Sprintf("read lineage %s: it is damaged", lineageOf(path)), session.Remedy{Code: session.RemedyRebuildLineage}))
	}
	if i := strings.LastIndexByte(k.home, '\n'); i >= 0 && identityForm.MatchString(k.home[i+1:]) {
		k.home, k.id = k.home[:i], k.home[i+1:]
	}
	return k, nil
}

// CopiedError reports a state that was copied: its sessions belong to the original.
type CopiedError struct {
	Path, Original string
	// Gone: the original no longer exists. Either it was renamed, or it was moved here from
	// another file system, which looks the same.
	Gone bool
	// Mixed: it also has sessions of its own, as one that was taken from a backend.
	Mixed bool
}

// Error names the original and how to continue.
func (e *CopiedError) Error() string {
	if e.Mixed {
		return remedy.With(fmt.Sprintf("read state %s: some of its sessions belong to the checkout with %s; nothing was changed", e.Path, e.Original),
			session.Remedy{Code: session.RemedyShareAgain})
	}
	if e.Gone {
		return remedy.With(fmt.Sprintf("read state %s: it is a copy of %s, which is no longer there, or was moved from there across file systems; nothing was changed", e.Path, e.Original),
			session.Remedy{Code: session.RemedyMovedOrCopied, Path: filepath.Dir(e.Path)})
	}
	return remedy.With(fmt.Sprintf("read state %s: it is a copy of %s, to which its sessions belong; nothing was changed", e.Path, e.Original),
		session.Remedy{Code: session.RemedyDeleteCopy, Path: filepath.Dir(e.Path)})
}

// original returns a *CopiedError if the state file's directory is a copy, and not renamed.
func original(path string) error {
	k, err := identity(path)
	dir, home := filepath.Dir(path), filepath.Dir(k.home)
	if err != nil || k.home == "" || k.home == canonical(path) || sameFile(home, dir) || // a link at the old place
		fileid.Renamed(k.id, home, dir) {
		return err
	}
	if there, err := identity(k.home); err != nil || there.lineage != k.lineage {
		return nil
	}
	return &CopiedError{Path: path, Original: k.home}
}

// keepLineage writes the lineage file, by which a copy is distinguished from the original.
func keepLineage(path, lineage string) error {
	now := lineageFile{lineage, canonical(path), fileid.Of(filepath.Dir(path))}
	if k, err := identity(path); err == nil && k == now {
		return nil
	}
	text := now.lineage + "\n" + now.home + "\n"
	if now.id != "" {
		text += now.id + "\n"
	}
	if _, err := replace(lineageOf(path), []byte(text)); err != nil {
		return fmt.Errorf("write lineage: %w", err)
	}
	return nil
}

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
