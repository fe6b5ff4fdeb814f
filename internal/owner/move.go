package owner

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentform/agentform/internal/fileid"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// MovedError says that a project was moved, with sessions that know its old place.
type MovedError struct {
	From, To session.Owner
	Sessions []session.Address
}

// Error names both places and how to go on.
func (e *MovedError) Error() string {
	from, to := e.From.Project, e.To.Project
	if from == to {
		from, to = e.From.DataDir, e.To.DataDir
	}
	return fmt.Sprintf("the project was moved from %s to %s, and its sessions (%d) still name the old place; nothing was changed; to repair it: agentform doctor --fix (running sessions keep running), or move it back",
		from, to, len(e.Sessions))
}

// Moved reports whether err refuses a state because its project was moved here. What may
// as well be a copy counts if moved says that someone knows it was moved.
func Moved(err error, moved bool) bool {
	if copied := (*state.CopiedError)(nil); errors.As(err, &copied) {
		return copied.Gone && moved
	}
	e := (*MovedError)(nil)
	return errors.As(err, &e)
}

// moves returns the moves that a state shows: records of the same host and user that
// name another data directory, where the state is no copy.
func moves(st state.State, here session.Owner) []*MovedError {
	var found []*MovedError
	for _, r := range st.Sessions {
		if r.Owner.Differs(here) != session.OtherDataDir {
			continue
		}
		i := slices.IndexFunc(found, func(m *MovedError) bool { return m.From.DataDir == r.Owner.DataDir })
		if i < 0 {
			i = len(found)
			found = append(found, &MovedError{From: r.Owner, To: here})
		}
		found[i].Sessions = append(found[i].Sessions, r.Address)
	}
	return found
}

// movedAcross returns the data directory that a state names in place of this one, where
// this one is not that directory renamed: it is a copy, or was moved across file systems.
func movedAcross(st state.State, here session.Owner) string {
	for _, r := range st.Sessions {
		o := r.Owner
		if o.Differs(here) == session.OtherDataDir && o.DataDirID != "" && o.DataDirID != fileid.Of(here.DataDir) {
			return o.DataDir
		}
	}
	return ""
}

// Relocate returns a moved session's record with the paths that it has now. root and
// dataDir are the project's directories as the manifest names them.
func Relocate(r session.Record, here session.Owner, root, dataDir string) session.Record {
	pairs := [][2]string{{r.Owner.DataDir, dataDir}, {r.Owner.Project, root}}
	if made := state.MadeIn(r.Tree); made != "" && made != r.Owner.DataDir { // it was named by a link
		pairs = append(pairs, [2]string{made, dataDir})
		if inside, ok := strings.CutPrefix(r.Owner.DataDir, r.Owner.Project); ok {
			pairs = append(pairs, [2]string{strings.TrimSuffix(made, inside), root})
		}
	}
	// A repository that the project is a part of was moved with it.
	for old, now := r.Owner.Project, root; filepath.Base(old) == filepath.Base(now) && filepath.Dir(old) != old; {
		old, now = filepath.Dir(old), filepath.Dir(now)
		pairs = append(pairs, [2]string{old, now})
	}
	now := func(path string) string {
		for _, p := range pairs {
			rest, inside := strings.CutPrefix(path, p[0])
			if !inside || p[0] == "" || rest != "" && rest[0] != filepath.Separator {
				continue
			}
			if _, err := os.Lstat(p[1] + rest); err == nil {
				return p[1] + rest
			}
		}
		return path
	}
	for _, path := range []*string{&r.Tree.Path, &r.Tree.Repo, &r.Spec.Workspace.Path, &r.Spec.Workspace.Repo} {
		*path = now(*path)
	}
	r.Owner.Project, r.Owner.DataDir, r.Owner.DataDirID = here.Project, here.DataDir, fileid.Of(here.DataDir)
	return r
}
