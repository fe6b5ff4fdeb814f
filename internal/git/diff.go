package git

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// View is a work tree in which git diff shows untracked files as new ones, because they are
// in a copy of the index.
type View struct {
	path  string
	index string // the copy; empty: nothing is untracked
	// Untracked are the untracked files of the work tree. A name that ends in a slash is a repository,
	// which git diff does not show.
	Untracked []string
}

// NewView returns the view of a checkout on this machine. Close removes the copy.
func NewView(ctx context.Context, path string) (*View, error) {
	v := &View{path: path}
	var err error
	if v.Untracked, err = UntrackedFiles(ctx, Here(path)); err != nil {
		return nil, err
	}
	if ViewInput(v.Untracked, "") == "" {
		return v, nil
	}
	if err := v.add(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("show untracked files of %s: %w", path, err), v.Close())
	}
	return v, nil
}

// UntrackedFiles returns the files that are neither tracked nor ignored.
func UntrackedFiles(ctx context.Context, git Runner) (names []string, err error) {
	out, err := git(ctx, "ls-files", "--others", "--exclude-standard", "-z")
	return namesIn(out), err
}

// namesIn returns the names in the output of git ls-files -z.
func namesIn(out string) (names []string) {
	for name := range strings.SplitSeq(out, "\x00") {
		if name != "" {
			names = append(names, name)
		}
	}
	return names
}

// ViewInput returns the untracked files that git diff can show, as git update-index
// --index-info -z reads them. commit is any commit of the repository, for the length of its IDs.
//
// In the index the files are empty, and git diff compares the work tree. Unlike git add, git
// update-index takes files that have been removed meanwhile, and many of them quickly.
func ViewInput(untracked []string, commit string) string {
	empty := "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
	if len(commit) == sha256.Size*2 {
		empty = "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813"
	}
	var b strings.Builder
	for _, name := range untracked {
		if !strings.HasSuffix(name, "/") { // a repository
			b.WriteString("100644 " + empty + " 0\t" + name + "\x00")
		}
	}
	return b.String()
}

// add makes the copy of the index, with the names of files and without their contents.
func (v *View) add(ctx context.Context) error {
	d, err := findDirs(v.path)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "agentform-diff-")
	if err != nil {
		return err
	}
	v.index = filepath.Join(dir, "index")
	text, err := readWhole(filepath.Join(d.git, "index"), indexLimit)
	if err == nil {
		err = os.WriteFile(v.index, []byte(text), 0o600)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	head, err := v.run(ctx, "", "rev-parse", "--verify", "HEAD")
	if err == nil {
		_, err = v.run(ctx, ViewInput(v.Untracked, strings.TrimSpace(head)), "update-index", "-z", "--index-info")
	}
	return err
}

// Close removes the copy of the index.
func (v *View) Close() error {
	if v.index == "" {
		return nil
	}
	return os.RemoveAll(filepath.Dir(v.index))
}

// Command returns a command of git in the work tree, with git's own configuration, pager and
// colors. environ is the caller's.
func (v *View) Command(ctx context.Context, environ []string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, "git", slices.Concat(safe, quiet, args)...)
	c.Dir = v.path
	c.Env = append(withoutRepository(environ), "GIT_OPTIONAL_LOCKS=0")
	if v.index != "" {
		c.Env = append(c.Env, "GIT_INDEX_FILE="+v.index)
	}
	return c
}

// Run is a Runner in the view.
func (v *View) Run(ctx context.Context, args ...string) (string, error) {
	return v.run(ctx, "", args...)
}

func (v *View) run(ctx context.Context, stdin string, args ...string) (string, error) {
	ctx, cancel := limited(ctx)
	defer cancel()
	var env []string
	if v.index != "" {
		env = append(env, "GIT_INDEX_FILE="+v.index)
	}
	return withEnv(ctx, v.path, stdin, env, args...)
}

// withoutRepository returns an environment without the variables of one repository.
func withoutRepository(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(ofRepository, name)
	})
}

// ofRepository are git's variables of one repository: git rev-parse --local-env-vars.
var ofRepository = []string{
	"GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_CONFIG", "GIT_CONFIG_PARAMETERS", "GIT_CONFIG_COUNT", "GIT_OBJECT_DIRECTORY",
	"GIT_DIR", "GIT_WORK_TREE", "GIT_IMPLICIT_WORK_TREE", "GIT_GRAFT_FILE", "GIT_INDEX_FILE", "GIT_NO_REPLACE_OBJECTS",
	"GIT_REPLACE_REF_BASE", "GIT_PREFIX", "GIT_SHALLOW_FILE", "GIT_COMMON_DIR", "GIT_NAMESPACE",
}

// ViewElsewhere returns a command line that runs git with arguments in a view of the current
// directory, in a place with a shell and git of its own. Its standard input is ViewInput.
func ViewElsewhere(columns int, args ...string) []string {
	settings := ""
	for _, word := range ArgsElsewhere() {
		settings += " '" + word + "'"
	}
	return slices.Concat([]string{"env", "LC_ALL=C", "GIT_OPTIONAL_LOCKS=0", fmt.Sprintf("COLUMNS=%d", columns),
		"sh", "-c", strings.ReplaceAll(viewScript, "SETTINGS", settings), "sh"}, args)
}

// viewScript does what NewView and View.Command do.
const viewScript = `
umask 077
dir=${TMPDIR:-/tmp}/agentform-diff-$$
mkdir "$dir" || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 130' HUP INT TERM
cat "$(git SETTINGS rev-parse --git-path index)" >"$dir/index"
export GIT_INDEX_FILE="$dir/index"
git SETTINGS update-index -z --index-info 2>"$dir/said" || { cat "$dir/said" >&2; exit 1; }
git SETTINGS --no-pager "$@"
`

// A DiffFile is a file that differs from the merge base.
type DiffFile struct {
	Path    string
	OldPath string // of a renamed or copied file
	Change  string // added, modified, deleted, renamed, copied, type_changed, unmerged, untracked
	// Added and Removed are lines; -1: the file is binary, or a repository.
	Added, Removed int
}

// Files returns the files that differ from the merge base with a base, by a Runner in which
// untracked files are visible to git diff.
func Files(ctx context.Context, view Runner, base Base, untracked, paths []string) ([]DiffFile, error) {
	out, err := base.diff(ctx, view, func(b Base) []string {
		return slices.Concat([]string{"--raw", "--numstat", "-z", "--find-renames", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty"}, b.Args(), paths)
	})
	if err != nil {
		return nil, err
	}
	return parseFiles(out, untracked), nil
}

// MergeBase returns the commit that the work in a checkout is compared with.
func (b Base) MergeBase(ctx context.Context, git Runner) (string, error) {
	args := []string{"rev-parse", "--verify", "HEAD"}
	if b.Commit != "HEAD" {
		args = []string{"merge-base", b.Commit, "HEAD"}
	}
	out, err := git(ctx, args...)
	if exitCode(err) == 1 {
		return "", fmt.Errorf("its branch has no commit in common with %s", b.Name)
	}
	return strings.TrimSpace(out), err
}

// Single returns a base whose only merge base with a checkout is one of those of b, of which there are
// several after branches were merged crosswise: git diff --merge-base refuses these.
func (b Base) Single(ctx context.Context, git Runner) (Base, error) {
	commit, err := b.MergeBase(ctx, git)
	if err == nil && b.Commit != "HEAD" {
		b.Commit = commit
	}
	return b, err
}

// Since returns as a base the last commit of a checkout before a time, by its committer's clock, or b if
// all its own commits are later. What was merged into it came when it was merged.
func (b Base) Since(ctx context.Context, git Runner, at time.Time) (Base, error) {
	own := "HEAD"
	if b.Commit != "HEAD" {
		own = b.Commit + "..HEAD"
	}
	out, err := git(ctx, "rev-list", "--max-count=1", "--first-parent", "--before="+at.UTC().Format(time.RFC3339), own, "--")
	commit := strings.TrimSpace(out)
	if err != nil || commit == "" {
		return b, err
	}
	return Base{Name: commit[:7], Commit: commit}, nil
}

// diff runs git diff with the arguments of a base, and if git refuses that with those of Single.
func (b Base) diff(ctx context.Context, git Runner, args func(Base) []string) (string, error) {
	out, err := git(ctx, append([]string{"diff"}, args(b)...)...)
	if err == nil || ctx.Err() != nil {
		return out, err
	}
	one, unknown := b.Single(ctx, git)
	if unknown != nil || one.Commit == b.Commit {
		return "", err
	}
	return git(ctx, append([]string{"diff"}, args(one)...)...)
}

// Ahead returns how many commits of a checkout the base lacks.
func (b Base) Ahead(ctx context.Context, git Runner) (int, error) {
	if b.Commit == "HEAD" {
		return 0, nil
	}
	out, err := git(ctx, "rev-list", "--count", b.Commit+"..HEAD", "--")
	if err != nil {
		return 0, err
	}
	return count(out)
}

// Apart returns how many commits of a checkout the base lacks, and how many of the base, also
// as last fetched, the checkout lacks.
func (b Base) Apart(ctx context.Context, git Runner) (ahead, behind int, err error) {
	if b.Commit == "HEAD" {
		return 0, 0, nil
	}
	out, err := git(ctx, "rev-list", "--count", "--left-right", b.Commit+"...HEAD", "--")
	if err != nil {
		return 0, 0, err
	}
	if _, err := fmt.Sscanf(out, "%d\t%d", &behind, &ahead); err != nil {
		return 0, 0, fmt.Errorf("git rev-list printed %q", out)
	}
	more, err := b.fetched(ctx, git, "HEAD")
	return ahead, behind + more, err
}

// Behind returns how many commits of the base, also as last fetched, a commit lacks. git runs in
// a repository with all of them.
func (b Base) Behind(ctx context.Context, git Runner, commit string) (int, error) {
	out, err := git(ctx, "rev-list", "--count", b.Commit, "^"+commit, "--")
	if err != nil {
		return 0, err
	}
	n, err := count(out)
	if err != nil {
		return 0, err
	}
	more, err := b.fetched(ctx, git, commit)
	return n + more, err
}

// Newest returns the commit that the base has by now, and its name: of the base itself, or of
// Remote, if that has all of it.
func (b Base) Newest(ctx context.Context, repo string) (commit, name string, err error) {
	ref, name := b.Commit, b.Name
	if b.Remote != "" {
		_, err := run(ctx, repo, "merge-base", "--is-ancestor", b.Commit, b.Remote)
		if err == nil {
			ref, name = b.Remote, b.RemoteName()
		} else if exitCode(err) != 1 {
			return "", "", err
		}
	}
	out, err := run(ctx, repo, "rev-parse", "--verify", ref+"^{commit}")
	return strings.TrimSpace(out), name, err
}

// fetched returns how many commits were fetched of the base that neither it nor a commit has.
func (b Base) fetched(ctx context.Context, git Runner, commit string) (int, error) {
	if b.Remote == "" {
		return 0, nil
	}
	out, err := git(ctx, "rev-list", "--count", b.Remote, "^"+b.Commit, "^"+commit, "--")
	if err != nil {
		return 0, err
	}
	return count(out)
}

// changeNames are the letters of git diff --raw.
var changeNames = map[byte]string{'A': "added", 'M': "modified", 'D': "deleted", 'R': "renamed", 'C': "copied", 'T': "type_changed", 'U': "unmerged"}

// parseFiles parses the output of git diff --raw --numstat -z.
func parseFiles(out string, untracked []string) []DiffFile {
	var files []DiffFile
	at := map[string]int{} // by path
	isUntracked := make(map[string]bool, len(untracked))
	for _, name := range untracked {
		isUntracked[name] = true
	}
	fields := strings.Split(out, "\x00")
	next := func() (field string) {
		if len(fields) > 0 {
			field, fields = fields[0], fields[1:]
		}
		return field
	}
	for len(fields) > 0 {
		field := next()
		if meta, raw := strings.CutPrefix(field, ":"); raw {
			// :100644 100644 OLD NEW M<nul>name<nul>; R100<nul>old<nul>new<nul>
			letter := meta[strings.LastIndexByte(meta, ' ')+1:]
			f := DiffFile{Path: next(), Change: changeNames[(letter + " ")[0]], Added: -1, Removed: -1}
			if f.Change == "renamed" || f.Change == "copied" {
				f.OldPath, f.Path = f.Path, next()
			}
			if isUntracked[f.Path] {
				f.Change = "untracked"
			}
			at[f.Path] = len(files)
			files = append(files, f)
			continue
		}
		// 12<tab>3<tab>name<nul>; 12<tab>3<tab><nul>old<nul>new<nul>; - of a binary file
		numbers := strings.SplitN(field, "\t", 3)
		if len(numbers) != 3 {
			continue
		}
		name := numbers[2]
		if name == "" {
			next()
			name = next()
		}
		added, e1 := strconv.Atoi(numbers[0])
		removed, e2 := strconv.Atoi(numbers[1])
		if i, known := at[name]; known && e1 == nil && e2 == nil {
			files[i].Added, files[i].Removed = added, removed
		}
	}
	for _, name := range untracked {
		if strings.HasSuffix(name, "/") {
			files = append(files, DiffFile{Path: name, Change: "untracked", Added: -1, Removed: -1})
		}
	}
	return files
}
