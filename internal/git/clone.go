package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/agentform/agentform/session"
)

// Owner is whose files are. A GID of -1 keeps the group.
type Owner struct{ UID, GID int }

// OwnerOf returns the user of a container: the configured one, or the caller.
func OwnerOf(d *session.DockerConfig) (Owner, error) {
	if d == nil || d.User == "" {
		return Owner{os.Geteuid(), os.Getegid()}, nil
	}
	user, group, grouped := strings.Cut(d.User, ":")
	o := Owner{GID: -1}
	var err error
	if o.UID, err = strconv.Atoi(user); err == nil && grouped {
		o.GID, err = strconv.Atoi(group)
	}
	if err != nil {
		return o, fmt.Errorf("user %q of the container is not a number", d.User)
	}
	return o, nil
}

// String returns the owner as docker and chown write it.
func (o Owner) String() string {
	if o.GID < 0 {
		return strconv.Itoa(o.UID)
	}
	return fmt.Sprintf("%d:%d", o.UID, o.GID)
}

// Take changes the owner of a path and of everything below it.
func (o Owner) Take(path string) error {
	return filepath.WalkDir(path, func(p string, _ fs.DirEntry, err error) error {
		if err == nil {
			err = os.Lchown(p, o.UID, o.GID)
		}
		if err != nil {
			return fmt.Errorf("change its owner to %s: %w (only root can)", o, err)
		}
		return nil
	})
}

// AddClone clones one branch of the repository (the top of any of its checkouts) to path,
// which must be absolute, and nothing or an empty directory. It creates a branch that the
// repository does not have in the clone from base (empty: HEAD), and made reports that.
//
// The clone has the commits of its branch and their tags, and the name and address for
// commits, and shares no file with the repository. It belongs to owner, or for nil to the
// caller. It appears at path as a whole, also if agentform is killed.
func AddClone(ctx context.Context, repo, path, branch, base string, owner *Owner) (made bool, err error) {
	defer wrap(&err, "clone %s to %s on branch %q", repo, path, branch)
	was, err := surroundings(path, branch)
	if err != nil {
		return false, err
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
	defer os.RemoveAll(part) // renamed if all went well
	if err := fill(ctx, part, repo, branch, from); err != nil {
		return false, err
	}
	if owner != nil && (owner.UID != os.Geteuid() || owner.GID >= 0 && owner.GID != os.Getegid()) {
		if err := owner.Take(part); err != nil {
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

// uploadPack serves any commit by its name: the branch may begin at one that no branch has.
// It fetches what a partial repository lacks from its remote, as for a worktree.
const uploadPack = "GIT_NO_LAZY_FETCH=0 git -c uploadpack.allowAnySHA1InWant=true -c core.hooksPath=/dev/null upload-pack"

// fill makes the clone in an empty directory. git clone would copy all objects of a local
// repository, and not those that it borrows, which a container needs.
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

// formatOf returns the object format that has a commit of that name.
func formatOf(commit string) string {
	if len(commit) == 64 {
		return "sha256"
	}
	return "sha1"
}

// asidePrefix is the prefix of directories next to a workspace that are to replace it, or did.
const asidePrefix = ".agentform-part-"

func aside(path string) (string, error) {
	dir, err := os.MkdirTemp(filepath.Dir(path), asidePrefix+filepath.Base(path)+"-")
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	return dir, err
}

// clearAside removes, if possible, the directories that a killed agentform left next to path.
func clearAside(path string) {
	entries, _ := os.ReadDir(filepath.Dir(path))
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), asidePrefix+filepath.Base(path)+"-") {
			_ = removeTree(filepath.Join(filepath.Dir(path), e.Name()))
		}
	}
}

// removeTree is os.RemoveAll, also for read-only directories, which caches have.
func removeTree(path string) error {
	err := os.RemoveAll(path)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	_ = filepath.WalkDir(path, func(p string, d fs.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(p, 0o700) // RemoveAll reports what stays
		}
		return nil
	})
	return os.RemoveAll(path)
}
