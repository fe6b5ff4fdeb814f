package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/agentform/agentform/session"
)

// Owner is whose a clone is to be, by number; a GID of -1 stays as it is.
type Owner struct{ UID, GID int }

// AddClone makes a clone of the repository (the top of any of its checkouts) at
// path, with one branch: as the repository has it, or, if it has none of that
// name, made in the clone from base (empty: HEAD), and made says so. The
// repository itself is only read. path must be absolute, and nothing or an empty
// folder.
//
// What the clone has is what its branch holds, and the tags on that: nothing of
// other branches, no hook, no setting of the repository but the name and address
// that commits bear. No file is shared with the repository. It belongs to the
// owner; nil: to whoever runs this.
//
// It appears at path whole or not at all, also when agentform is killed.
func AddClone(ctx context.Context, repo, path, branch, base string, owner *Owner) (made bool, err error) {
	defer wrap(&err, "clone %s to %s on branch %q", repo, path, branch)
	if err := session.CheckBranch(branch); err != nil {
		return false, err
	}
	if !filepath.IsAbs(path) {
		return false, errors.New("the path is not absolute")
	}
	exists, err := hasBranch(ctx, repo, branch)
	if err != nil {
		return false, err
	}
	from := base
	if exists {
		from = headsPrefix + branch
	}
	if from, err = commitOf(ctx, repo, from); err != nil {
		return false, err
	}
	was, err := surroundings(path)
	if err != nil {
		return false, err
	}
	defer func() {
		if err != nil {
			was.restore(path)
		}
	}()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return false, err
	}
	clearAside(path)
	part, err := aside(path)
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(part) // after the rename there is nothing there
	if err := fill(ctx, part, repo, branch, from); err != nil {
		return false, err
	}
	if owner != nil && (owner.UID != os.Geteuid() || owner.GID >= 0 && owner.GID != os.Getegid()) {
		if err := giveAway(part, *owner); err != nil {
			return false, err
		}
	}
	if err := syscall.Rmdir(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return false, err
	}
	if err := os.Rename(part, path); err != nil {
		return false, err
	}
	return !exists, nil
}

// uploadPack gives any commit that is asked for by its name: the branch may have
// to begin at one that no branch is at. Of a partial repository, the user's own, what
// is missing is fetched from where it is to be had, as for a worktree.
const uploadPack = "GIT_NO_LAZY_FETCH=0 git -c uploadpack.allowAnySHA1InWant=true -c core.hooksPath=/dev/null upload-pack"

// fill makes the clone in an empty folder. It is not git clone: that copies every
// object of a repository on the same disk, whatever branch is asked for, and what
// the repository borrows from others would be missing in a container.
func fill(ctx context.Context, dir, repo, branch, commit string) error {
	steps := [][]string{
		{"init", "--quiet", "--template=", "--initial-branch=" + branch, "--object-format=" + formatOf(commit)},
		{"remote", "add", "-t", branch, "origin", repo},
		{"-c", "protocol.file.allow=always", "fetch", "--quiet", "--no-write-fetch-head", "--no-recurse-submodules",
			"--update-shallow", // of a shallow repository it is shallow, too
			"--no-auto-maintenance", "--upload-pack=" + uploadPack, "origin", commit + ":refs/remotes/origin/" + branch},
		{"reset", "--quiet", "--hard", commit, "--"},
	}
	for _, key := range []string{"user.name", "user.email"} {
		value, err := setting(ctx, repo, key)
		if err != nil {
			return err
		}
		if value != "" {
			steps = append(steps, []string{"config", key, value})
		}
	}
	for _, args := range steps {
		if _, err := run(ctx, dir, args...); err != nil {
			return err
		}
	}
	return nil
}

// formatOf is the object format of a repository by the name of one of its commits.
func formatOf(commit string) string {
	if len(commit) == 64 {
		return "sha256"
	}
	return "sha1"
}

// asidePrefix begins the name of what is not a workspace yet, or not any more. It
// stands beside the workspace.
const asidePrefix = ".agentform-part-"

// aside makes a folder beside path that becomes it by a rename.
func aside(path string) (string, error) {
	dir, err := os.MkdirTemp(filepath.Dir(path), asidePrefix+filepath.Base(path)+"-")
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	return dir, err
}

// clearAside removes what an agentform that was killed left aside for path. What
// cannot be removed is in nobody's way.
func clearAside(path string) {
	entries, _ := os.ReadDir(filepath.Dir(path))
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), asidePrefix+filepath.Base(path)+"-") {
			_ = removeTree(filepath.Join(filepath.Dir(path), e.Name()))
		}
	}
}

// giveAway makes everything below dir, and dir, somebody else's.
func giveAway(dir string, to Owner) error {
	return filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if err := os.Lchown(path, to.UID, to.GID); err != nil {
			return fmt.Errorf("give it to user %d:%d: %w (only root may give files away)", to.UID, to.GID, err)
		}
		return nil
	})
}

// removeTree is os.RemoveAll that also removes folders which nobody may write to,
// as caches have them.
func removeTree(path string) error {
	err := os.RemoveAll(path)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	_ = filepath.WalkDir(path, func(p string, d fs.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(p, 0o700) // what cannot be changed cannot be removed, which is told
		}
		return nil
	})
	return os.RemoveAll(path)
}
