package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/renameio/v2"
)

// Quarantine holds commits that serve only inspection: of uncommitted work, and of hypothetical
// merges. They are stored outside the repository, which stays unchanged.
type Quarantine struct {
	repo string // any checkout of the repository
	dir  string
}

const (
	// looseLimit is the number of objects above which a Quarantine is begun again: as many
	// as git itself tolerates before it packs (gc.auto).
	looseLimit = 6700
	// largestUntracked and mostUntracked limit the untracked files that a Snapshot has.
	largestUntracked = 1 << 20
	mostUntracked    = 1000
)

// OpenQuarantine returns the quarantine of a repository in a directory, which it makes. The
// objects of the clones, which are git directories, are visible in it as well.
func OpenQuarantine(repo, dir string, clones ...string) (*Quarantine, error) {
	d, err := repository(repo)
	if err != nil {
		return nil, err
	}
	q := &Quarantine{repo, dir}
	if sample, _ := os.ReadDir(filepath.Join(dir, "17")); len(sample) > looseLimit/256 { // as git gc --auto estimates
		if err := os.RemoveAll(dir); err != nil {
			return nil, err
		}
	}
	info := filepath.Join(dir, "info")
	if err := os.MkdirAll(info, 0o700); err != nil {
		return nil, err
	}
	var borrows strings.Builder
	for _, common := range append([]string{d.common}, clones...) {
		objects := filepath.Join(common, "objects")
		if strings.ContainsRune(objects, '\n') {
			return nil, fmt.Errorf("%q: git cannot borrow from a path with a line break", objects)
		}
		borrows.WriteString(objects + "\n")
	}
	file := filepath.Join(info, "alternates")
	if is, err := os.ReadFile(file); err == nil && string(is) == borrows.String() {
		return q, nil
	}
	return q, renameio.WriteFile(file, []byte(borrows.String()), 0o600) // another process may read it
}

func (q *Quarantine) run(ctx context.Context, dir, stdin string, args []string, env ...string) (string, error) {
	ctx, cancel := limited(ctx)
	defer cancel()
	return withEnv(ctx, dir, stdin, append(env, objectsVariable+q.dir), args...)
}

// objectsVariable sets where git writes objects.
const objectsVariable = "GIT_OBJECT_DIRECTORY="

// Has reports whether a commit that was made in the quarantine is still there.
func (q *Quarantine) Has(commit string) bool {
	if len(commit) < 3 {
		return false
	}
	_, err := os.Lstat(filepath.Join(q.dir, commit[:2], commit[2:]))
	return err == nil
}

// Changed returns the paths that differ between two commits, and whether git may take some of them
// for renamed: some were added and some removed.
func (q *Quarantine) Changed(ctx context.Context, from, to string) (paths []string, renamed bool, err error) {
	out, err := q.run(ctx, q.repo, "", []string{"diff-tree", "-r", "-z", "--no-renames", "--name-status", from, to})
	fields := strings.Split(out, "\x00") // A<nul>name<nul>
	added, removed := false, false
	for i := 0; i+1 < len(fields); i += 2 {
		added, removed = added || fields[i] == "A", removed || fields[i] == "D"
		paths = append(paths, fields[i+1])
	}
	return paths, added && removed, err
}

// Snapshot returns the commit of a checkout, and one of its current files. The latter has no
// ignored files, and at most a thousand untracked ones of at most 1 MiB. It is head if nothing
// differs.
func (q *Quarantine) Snapshot(ctx context.Context, path string, untracked bool) (head, commit string, err error) {
	out, err := q.run(ctx, path, "", []string{"rev-parse", "HEAD^{commit}", "HEAD^{tree}"})
	if err != nil {
		return "", "", err
	}
	at := strings.Fields(out)
	if len(at) != 2 {
		return "", "", fmt.Errorf("git rev-parse printed %q", out)
	}
	tree, err := q.treeOf(ctx, path, untracked)
	if err != nil || tree == at[1] {
		return at[0], at[0], err
	}
	commit, err = q.commit(ctx, tree, at[0])
	return at[0], commit, err
}

// treeOf returns the tree of a checkout's files as they are now.
func (q *Quarantine) treeOf(ctx context.Context, path string, untracked bool) (tree string, err error) {
	d, err := findDirs(path)
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(q.dir, "index-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	own, index := filepath.Join(d.git, "index"), filepath.Join(dir, "index")
	fi, err := os.Stat(own)
	if err == nil {
		err = copyFile(own, index, indexLimit)
	}
	if err == nil {
		// With a later time git would take files for unchanged that were written in the
		// same moment as the index.
		err = os.Chtimes(index, fi.ModTime(), fi.ModTime())
	}
	if err != nil {
		return "", err
	}
	env := "GIT_INDEX_FILE=" + index
	if _, err := q.run(ctx, path, "", []string{"add", "--update", "--", "."}, env); err != nil {
		return "", err
	}
	if untracked {
		names, err := UntrackedFiles(ctx, Here(path))
		if err == nil {
			_, err = q.run(ctx, path, small(path, names), []string{"update-index", "--add", "--remove", "-z", "--stdin"}, env)
		}
		if err != nil {
			return "", err
		}
	}
	tree, err = q.run(ctx, path, "", []string{"write-tree"}, env)
	return strings.TrimSpace(tree), err
}

// small returns the names of untracked files that a snapshot has, each ended by NUL.
func small(path string, untracked []string) string {
	var b strings.Builder
	n := 0
	for _, name := range untracked {
		fi, err := os.Lstat(filepath.Join(path, filepath.FromSlash(name)))
		if err != nil || fi.IsDir() || fi.Size() > largestUntracked {
			continue
		}
		if n++; n > mostUntracked {
			break
		}
		b.WriteString(name + "\x00")
	}
	return b.String()
}

// commit returns a commit of a tree with parents, which is always the same one.
func (q *Quarantine) commit(ctx context.Context, tree string, parents ...string) (string, error) {
	args := []string{"-c", "user.name=agentform", "-c", "user.email=agentform", "commit-tree", "-m", "quarantine"}
	for _, p := range parents {
		args = append(args, "-p", p)
	}
	const never = "@0 +0000"
	out, err := q.run(ctx, q.repo, "", append(args, tree), "GIT_AUTHOR_DATE="+never, "GIT_COMMITTER_DATE="+never)
	return strings.TrimSpace(out), err
}

// Merge returns a merge of two commits and, if it is clean, its commit.
func (q *Quarantine) Merge(ctx context.Context, ours, theirs string) (m Merge, commit string, err error) {
	return q.merge(ctx, ours, theirs, ours, theirs)
}

// Squash is Merge with a commit on top of ours that does not include theirs, like a squash or a
// rebase.
func (q *Quarantine) Squash(ctx context.Context, ours, theirs string) (m Merge, commit string, err error) {
	return q.merge(ctx, ours, theirs, ours)
}

func (q *Quarantine) merge(ctx context.Context, ours, theirs string, parents ...string) (m Merge, commit string, err error) {
	m, err = mergeTree(ctx, q.repo, ours, theirs, objectsVariable+q.dir)
	if err == nil && len(m.Conflicts) == 0 {
		commit, err = q.commit(ctx, m.Tree, parents...)
	}
	return m, commit, err
}

// Compare merges each pair of commits, and keeps nothing of it. A merge that git cannot do is
// nil. With an error there are fewer merges than pairs.
func (q *Quarantine) Compare(ctx context.Context, pairs [][2]string) (all []*Merge, err error) {
	dir, err := os.MkdirTemp(q.dir, "merges-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	info := filepath.Join(dir, "info")
	if err := os.Mkdir(info, 0o700); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(info, "alternates"), []byte(q.dir+"\n"), 0o600); err != nil {
		return nil, err
	}
	for len(all) < len(pairs) {
		merged, err := mergeTrees(ctx, q.repo, pairs[len(all):], objectsVariable+dir)
		for i := range merged {
			all = append(all, &merged[i])
		}
		if err != nil && (ctx.Err() != nil || errors.Is(err, errOldGit)) {
			return all, err
		}
		if err != nil { // histories with nothing in common, objects that are missing
			all = append(all, nil)
		}
	}
	return all, nil
}

// Merge is what became of a merge without a checkout.
type Merge struct {
	Tree      string
	Conflicts []string // files; none: it is clean
}

var errOldGit = errors.New("merges cannot be foreseen with a git before 2.39")

// mergeTree merges two commits without a checkout.
func mergeTree(ctx context.Context, repo, ours, theirs string, env ...string) (Merge, error) {
	all, err := mergeTrees(ctx, repo, [][2]string{{ours, theirs}}, env...)
	if err != nil {
		return Merge{}, err
	}
	return all[0], nil
}

// mergeTrees merges pairs of commits without a checkout. With an error it returns the merges before
// the failed one; errOldGit means that this git cannot do it.
func mergeTrees(ctx context.Context, repo string, pairs [][2]string, env ...string) (all []Merge, err error) {
	var lines strings.Builder
	for _, p := range pairs {
		lines.WriteString(p[0] + " " + p[1] + "\n")
	}
	out, err := withEnv(ctx, repo, lines.String(), env, "merge-tree", "--write-tree", "--stdin", "--name-only", "--no-messages", "-z")
	if exitCode(err) == 129 {
		return nil, errOldGit
	}
	if failed := (*Error)(nil); errors.As(err, &failed) {
		out = failed.stdout
	}
	// Of each: 1 if it is clean, else 0; the tree; the files that conflict; an empty field.
	fields := strings.Split(out, "\x00")
	for len(fields) >= 3 && len(all) < len(pairs) {
		m := Merge{Tree: fields[1]}
		end := slices.Index(fields[2:], "")
		if end < 0 {
			break
		}
		m.Conflicts, fields = fields[2:2+end], fields[2+end+1:]
		all = append(all, m)
	}
	if err == nil && len(all) < len(pairs) {
		err = fmt.Errorf("git merge-tree printed %d of %d merges", len(all), len(pairs))
	}
	return all, err
}
