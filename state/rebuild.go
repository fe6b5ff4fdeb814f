package state

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/agentform/agentform/internal/layout"
	"github.com/agentform/agentform/internal/remedy"
	"github.com/agentform/agentform/session"
)

// Mirror is the copy of a record in its session's directory.
type Mirror struct {
	session.Record
	Path        string `json:"-"`
	Transcripts struct {
		Events string `json:"events"`
		Screen string `json:"screen"`
	} `json:"transcripts"`
}

func mirrorOf(r session.Record, folder string) Mirror {
	m := Mirror{Record: r}
	m.Transcripts.Events = filepath.Join(folder, "events.jsonl")
	m.Transcripts.Screen = filepath.Join(folder, "transcript.log")
	return m
}

// Mirrors reads the copies of records below a directory, and the paths of damaged ones.
func Mirrors(outputsDir string) (found []Mirror, damaged []string) {
	paths, _ := filepath.Glob(filepath.Join(outputsDir, "*", "*", "state.json")) // the pattern is valid
	for _, path := range paths {
		m := Mirror{Path: path}
		b, err := readRegular(path)
		if err == nil {
			err = json.Unmarshal(b, &m)
		}
		if err != nil || check(m.Record) != nil || m.Record.ID != filepath.Base(filepath.Dir(path)) {
			damaged = append(damaged, path)
			continue
		}
		found = append(found, m)
	}
	return found, damaged
}

// Sum returns a checksum of the file at path and its journal, valid or not.
func Sum(path string) string {
	h := sha256.New()
	for _, file := range []string{path, JournalOf(path)} {
		b, err := readRegular(file)
		fmt.Fprintf(h, "%d %v\n%s", len(b), err, b)
	}
	return string(h.Sum(nil))
}

// Rebuild replaces the state at path, valid or not, under its lock, and returns the paths of
// backups. seen is the Sum of path from before st was made: what was written since is not
// replaced.
func Rebuild(ctx context.Context, path string, st State, seen string, who Holder, wait time.Duration) (backups []string, err error) {
	l, err := lock(ctx, path, who, wait)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("rebuild state: %w", err)
		}
		err = errors.Join(err, unlock(l))
	}()
	if Sum(path) != seen {
		return nil, errors.New(remedy.With(fmt.Sprintf("%s was written meanwhile, so nothing was changed", path), session.Remedy{Code: session.RemedyRebuildAgain}))
	}
	suffix := time.Now().UTC().Format(".20060102T150405.backup")
	for _, file := range []string{path, JournalOf(path), lineageOf(path)} {
		b, err := readRegular(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			_, err = replace(file+suffix, b)
		}
		if err != nil {
			return backups, fmt.Errorf("back up %s: %w", file, err)
		}
		backups = append(backups, file+suffix)
	}
	text, err := st.Encode()
	if err != nil {
		return backups, err
	}
	if err := removeFile(JournalOf(path)); err != nil {
		return backups, err
	}
	if _, err := replace(path, text); err != nil {
		return backups, err
	}
	return backups, keepLineage(path, st.Lineage)
}

// mirroredLineage returns the lineage in the copies of this data directory's records.
func mirroredLineage(path string, outputs []string) string {
	for _, dir := range slices.Concat(outputs, []string{layout.Data{Dir: filepath.Dir(path)}.Sessions()}) {
		if dir == "" {
			continue
		}
		mirrors, _ := Mirrors(dir)
		for _, m := range mirrors {
			if o := m.Record.Owner; lineageForm.MatchString(o.Lineage) && sameFile(o.DataDir, filepath.Dir(path)) {
				return o.Lineage
			}
		}
	}
	return ""
}
