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

	"github.com/agentform/agentform/session"
)

// mirrored is the content of the copy of a record in its session's folder.
type mirrored struct {
	session.Record
	// State is the session's state as agentform last recorded it.
	State session.State `json:"state"`
	// Transcripts are the files that tell what the session did.
	Transcripts struct {
		Events string `json:"events"`
		Screen string `json:"screen"`
	} `json:"transcripts"`
}

// mirrorOf returns the copy of a record for its folder.
func mirrorOf(r session.Record, folder string) mirrored {
	m := mirrored{Record: r, State: lastState(r)}
	m.Transcripts.Events = filepath.Join(folder, "events.jsonl")
	m.Transcripts.Screen = filepath.Join(folder, "transcript.log")
	return m
}

// lastState returns the state of a session that its record tells.
func lastState(r session.Record) session.State {
	desired := r.Spec.Desired
	if r.Override != nil {
		desired = r.Override.Desired
	}
	switch {
	case r.Trouble != "":
		return session.StateError
	case r.Run.StartedAt.IsZero():
		return session.StatePending
	case desired == session.Stopped, !r.Run.EndedAt.IsZero():
		return session.StateStopped
	case desired == session.Paused:
		return session.StatePaused
	case r.Run.ReadyAt.IsZero():
		return session.StateStarting
	}
	return session.StateRunning
}

// Mirror is a copy of a record, as it was found in a session's own folder.
type Mirror struct {
	Path   string
	Record session.Record
	State  session.State
}

// Mirrors reads the copies of the records below the folder of the sessions' own
// folders. One that makes no sense is left out, and is among the damaged.
func Mirrors(outputsDir string) (found []Mirror, damaged []string) {
	paths, _ := filepath.Glob(filepath.Join(outputsDir, "*", "*", "state.json")) // fails only for a bad pattern
	for _, path := range paths {
		var m mirrored
		b, err := readRegular(path)
		if err == nil {
			err = json.Unmarshal(b, &m)
		}
		if err != nil || check(m.Record) != nil || m.Record.ID != filepath.Base(filepath.Dir(path)) {
			damaged = append(damaged, path)
			continue
		}
		found = append(found, Mirror{Path: path, Record: m.Record, State: m.State})
	}
	return found, damaged
}

// Sum returns a checksum of what is at path and in its journal, whether that can be read
// as a state or not. It is another one after each write.
func Sum(path string) string {
	h := sha256.New()
	for _, file := range []string{path, JournalOf(path)} {
		b, err := readRegular(file)
		fmt.Fprintf(h, "%d %v\n%s", len(b), err, b)
	}
	return string(h.Sum(nil))
}

// Rebuild puts a state in place of what is at path, under its lock, whatever that is:
// missing, empty or damaged. What was there is copied first; the copies are returned.
// seen is the Sum of path from before st was gathered: what was written since is not in
// it, and Rebuild refuses to replace that.
func Rebuild(ctx context.Context, path string, st State, seen string, who Holder, wait time.Duration) (backups []string, err error) {
	l, err := lock(ctx, path, who, wait)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, unlock(l)) }()
	if Sum(path) != seen {
		return nil, fmt.Errorf("rebuild state: %s was written meanwhile, and nothing was changed; look again: agentform state rebuild", path)
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
			return backups, fmt.Errorf("rebuild state: back up %s: %w", file, err)
		}
		backups = append(backups, file+suffix)
	}
	text, err := st.Encode()
	if err != nil {
		return backups, fmt.Errorf("rebuild state: %w", err)
	}
	// A journal goes on from the file that it was written for, and from no other.
	if err := removeFile(JournalOf(path)); err != nil {
		return backups, fmt.Errorf("rebuild state: %w", err)
	}
	if _, err := replace(path, text); err != nil {
		return backups, fmt.Errorf("rebuild state: %w", err)
	}
	return backups, keepLineage(path, st.Lineage)
}

// mirroredLineage returns the lineage that the copies of records of the state file at
// path name: it is known also where both files with it are lost. The copies are in
// outputs or beside the file. Those that another data directory's state has are ignored.
func mirroredLineage(path string, outputs []string) string {
	for _, dir := range slices.Concat(outputs, []string{filepath.Join(filepath.Dir(path), "agents")}) {
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
