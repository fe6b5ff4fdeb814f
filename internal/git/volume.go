package git

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentform/agentform/session"
)

// Shell runs a command line in another place with that standard input (nil: none), and
// writes the command's standard output to stdout. The error of a command that fails has its
// standard error.
type Shell func(ctx context.Context, stdin io.Reader, stdout io.Writer, argv ...string) error

// Volume is a directory that this machine does not see, such as one on a volume of a
// cluster. Its methods need a shell and git there and nothing else: commits travel as git
// bundles, on standard input and output. What comes from there is the agent's and is read
// with limits; objects are checked.
type Volume struct {
	Path string // absolute, as it is there
	Run  Shell  // as the user of the agent
	// Server is the repository of the clone, if that is on a server. Risk queries it.
	Server *Server
}

// VolumeOf returns the workspace of a session that its runtime holds.
func VolumeOf(h session.WorkspaceHolder, r session.Record) Volume {
	return Volume{Path: r.Tree.Path, Run: func(ctx context.Context, stdin io.Reader, stdout io.Writer, argv ...string) error {
		return h.RunIn(ctx, r, stdin, stdout, argv...)
	}}
}

// script returns the command line of a shell script, in which "g" is git without programs of
// the repository.
func script(text string, args ...string) []string {
	var flags strings.Builder
	for _, flag := range ArgsElsewhere() {
		flags.WriteString(" '" + flag + "'")
	}
	g := "set -u\nexport LC_ALL=C GIT_OPTIONAL_LOCKS=0 GIT_TERMINAL_PROMPT=0\ng() { git" + flags.String() + ` "$@"; }` + "\n"
	return append([]string{"sh", "-c", g + text, "sh"}, args...)
}

// Git returns what runs git in the directory.
func (v Volume) Git() Runner {
	return func(ctx context.Context, args ...string) (string, error) {
		out := output(outputLimit)
		err := v.run(ctx, nil, out, CommandElsewhere(append([]string{"-C", v.Path}, args...)...)...)
		return out.String(), err
	}
}

// needsGit ends a script where there is no git: a branch of which nothing is known must not count as one that
// does not exist.
const needsGit = `command -v git >/dev/null || { echo "the image has no git" >&2; exit 1; }
`

// addClone makes a clone of the bundle on its standard input. It appears as a whole, and
// never over anything that exists. One that an interrupted call left running fails when
// its directory is removed: the directories have different names.
const addClone = `set -e
` + needsGit + `path=$1 branch=$2 format=$3 mark=$4 name=$5 mail=$6
if [ -e "$path/.git" ] || [ -L "$path/.git" ]; then echo "it is a clone already" >&2; exit 1; fi
if [ -e "$path" ] && [ -n "$(ls -A "$path")" ]; then echo "it has files, and is not a git checkout" >&2; exit 1; fi
dir=${path%/*} base=${path##*/}
mkdir -p "$dir"
rm -rf "$dir/.agentform-part-$base-"*
part=$dir/.agentform-part-$base-$mark
trap 'rm -rf "$part"' EXIT
mkdir "$part"
cd "$part"
if [ "$format" = sha1 ]; then g init --quiet --template= .; else g init --quiet --template= --object-format="$format" .; fi
cat >.git/agentform.bundle
g symbolic-ref HEAD "refs/heads/$branch"
g fetch --quiet --no-write-fetch-head .git/agentform.bundle "` + borrowed + `:refs/remotes/origin/$branch" 'refs/tags/*:refs/tags/*'
rm .git/agentform.bundle
g reset --quiet --hard "refs/remotes/origin/$branch" --
[ -z "$name" ] || g config user.name "$name"
[ -z "$mail" ] || g config user.email "$mail"
[ ! -d "$path" ] || rmdir "$path"
[ ! -e "$path" ]
mv "$part" "$path"
[ -e "$path/.git" ]
`

// AddClone clones one branch of a repository of this machine into the directory, as the
// function AddClone does. It fails if the directory has anything in it.
func (v Volume) AddClone(ctx context.Context, repo, branch, base string) (made bool, err error) {
	defer wrap(&err, "clone %s to %s on branch %q", repo, v.Path, branch)
	exists, err := hasBranch(ctx, repo, branch)
	if err != nil {
		return false, err
	}
	from := base
	if exists {
		from = headsPrefix + branch
	}
	commit, err := commitOf(ctx, repo, from)
	if err != nil {
		return false, err
	}
	args := []string{v.Path, branch, formatOf(commit), strings.ToLower(rand.Text())}
	for _, key := range []string{"user.name", "user.email"} {
		value, err := setting(ctx, repo, key)
		if err != nil {
			return false, err
		}
		args = append(args, value)
	}
	bundle, err := bundleOf(ctx, repo, commit, "--tags")
	if err != nil {
		return false, err
	}
	defer bundle.Close()
	if err := v.run(ctx, bundle, io.Discard, script(addClone, args...)...); err != nil {
		return false, err
	}
	return !exists, nil
}

// bundleOf makes a bundle of a commit, as the ref borrowed. With more it has the tags below it
// (--tags), or lacks what another commit has (^COMMIT). The file is removed already: nothing is left
// if the process is killed while it sends the bundle.
func bundleOf(ctx context.Context, repo, commit, more string) (_ *os.File, err error) {
	d, err := repository(repo)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "agentform-bundle-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	view := filepath.Join(dir, "view")
	if err := os.Mkdir(view, 0o700); err != nil {
		return nil, err
	}
	if err := borrow(ctx, view, filepath.Join(d.common, "objects"), commit); err != nil {
		return nil, err
	}
	tags, err := run(ctx, repo, "for-each-ref", "--merged", commit, "--format=create %(refname) %(objectname)", "refs/tags")
	if err != nil {
		return nil, err
	}
	if _, err := feed(ctx, view, tags, "update-ref", "--stdin"); err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "bundle")
	if _, err := run(ctx, view, "bundle", "create", "--quiet", file, borrowed, more); err != nil {
		if _, shallow := os.Lstat(filepath.Join(d.common, "shallow")); shallow == nil {
			err = fmt.Errorf("the repository is shallow: complete it with git fetch --unshallow: %w", err)
		}
		return nil, err
	}
	return os.Open(file)
}

// lookOnVolume prints one "KEY VALUE" a line, and after the line "status" what git status
// prints.
const lookOnVolume = `path=$1
[ -e "$path" ] || [ -L "$path" ] || { echo "is gone"; exit; }
[ -d "$path/.git" ] || { if [ -d "$path" ] && [ -z "$(ls -A "$path")" ]; then echo "is empty"; else echo "is plain"; fi; exit; }
echo "is git"
` + needsGit + `cd "$path" || exit 1
IFS= read -r head <.git/HEAD
printf 'head %s\n' "$head"
printf 'commit %s\n' "$(g rev-parse --quiet --verify 'HEAD^{commit}')"
`

// riskOnVolume follows lookOnVolume. The index is a copy in which no file is marked, because
// git omits changes of files that are. Anything that may have a repository of its own is
// named, and so keeps the clone.
const riskOnVolume = `
command -v find >/dev/null || { echo "there is no find" >&2; exit 1; }
for sign in rebase-merge:rebase rebase-apply/applying:am rebase-apply:rebase MERGE_HEAD:merge CHERRY_PICK_HEAD:cherry-pick REVERT_HEAD:revert sequencer:cherry-pick BISECT_LOG:bisect; do
	[ ! -e ".git/${sign%%:*}" ] || { echo "busy ${sign#*:}"; break; }
done
g for-each-ref --format='ref %(objectname) %(refname)' || exit 1
g log --walk-reflogs --all --format='past %H' || exit 1
find . -name .git ! -path ./.git -print | while IFS= read -r dot; do
	echo "nested a repository: $dot"
	break
done
for own in .git/worktrees .git/modules; do
	[ -z "$(ls -A "$own" 2>/dev/null)" ] || echo "nested a worktree or a submodule: $own"
done
find . -type d -name objects ! -path './.git/*' -print | while IFS= read -r store; do
	[ ! -d "${store%objects}refs" ] || [ ! -e "${store%objects}HEAD" ] || { echo "nested a repository: ${store%/objects}"; break; }
done
for large in .git/lfs/objects .git/annex/objects; do
	[ ! -d "$large" ] || find "$large" -type f -print | while IFS= read -r _; do echo large; done
done
marked=.git/agentform.index
trap 'rm -f "$marked"' EXIT
if [ -e .git/index ]; then
	cp .git/index "$marked" || exit 1
	export GIT_INDEX_FILE="$PWD/$marked"
	g ls-files -z | g update-index -z --no-assume-unchanged --stdin || exit 1
	g ls-files -z | g update-index -z --no-skip-worktree --stdin || exit 1
fi
echo status
g --work-tree=. status --porcelain --branch -z --no-renames --untracked-files=normal --ignore-submodules=none || exit 1
`

// onVolume is what a script has printed.
type onVolume struct {
	checkout session.Checkout
	risk     Risk
	refs     []string // commits
	past     []string // commits of reflogs
	unpushed map[string]bool
}

func (v Volume) look(ctx context.Context, text string) (s onVolume, err error) {
	out := output(refLimit)
	var stdin io.Reader
	args := []string{v.Path}
	if v.Server != nil && strings.Contains(text, unpushed) {
		key, _, _, err := v.Server.helper()
		if err != nil {
			return s, err
		}
		stdin, args = strings.NewReader(v.Server.Password+"\n"), append(args, key, strings.ToLower(rand.Text()))
	}
	if err := v.run(ctx, stdin, out, script(text, args...)...); err != nil {
		return s, err
	}
	head, status, examined := strings.Cut(out.String(), "\nstatus\n")
	s.checkout.Path = v.Path
	is := ""
	for line := range strings.Lines(head) {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch key {
		case "is":
			is = value
		case "head":
			s.checkout.Branch = strings.TrimPrefix(value, "ref: "+headsPrefix)
			if s.checkout.Branch == value {
				s.checkout.Branch = ""
			}
		case "commit":
			s.checkout.Head = value
		case "busy":
			s.risk.Busy = value
		case "ref":
			commit, _, _ := strings.Cut(value, " ")
			s.refs = append(s.refs, commit)
		case "past":
			s.past = append(s.past, value)
		case "unpushed":
			if s.unpushed == nil {
				s.unpushed = map[string]bool{}
			}
			s.unpushed[value] = true
		case "nested":
			s.risk.Nested = value
		case "large":
			s.risk.Large++
		}
	}
	switch is {
	case "gone":
		return s, nil
	case "empty", "plain":
		s.checkout.Exists, s.checkout.Empty = true, is == "empty"
		return s, nil
	case "git":
	default:
		return s, errors.New("its output was lost")
	}
	co := &s.checkout
	co.Exists, co.Git, co.GitDir = true, true, path.Join(v.Path, ".git")
	co.Repo = co.GitDir
	switch {
	case co.Branch != "" && co.Head == "":
		co.Branch, co.BranchGone = "", co.Branch
	case co.Branch != "":
		co.Head = ""
	}
	co.Busy = s.risk.Busy
	if text == lookOnVolume {
		return s, nil
	}
	if !examined || status == "" { // git status prints at least the branch
		return s, errors.New("its output was lost")
	}
	for _, commit := range slices.Concat(s.refs, s.past) {
		if !isCommit(commit) {
			return s, fmt.Errorf("it printed %.80q instead of a commit", commit)
		}
	}
	s.risk.Uncommitted, s.risk.Untracked = counted(status)
	return s, nil
}

// Look returns the checkout that the directory is. Head is empty unless it is detached.
func (v Volume) Look(ctx context.Context) session.Checkout {
	s, err := v.look(ctx, lookOnVolume)
	if err != nil {
		return session.Checkout{Path: v.Path, Err: fmt.Errorf("inspect %s: %w", v.Path, err)}
	}
	return s.checkout
}

// Unsaved returns what is not committed in the directory, and the operation under way.
func (v Volume) Unsaved(ctx context.Context) (Risk, error) {
	s, err := v.look(ctx, lookOnVolume+riskOnVolume)
	if err == nil && !s.checkout.Git {
		err = fmt.Errorf("%s: %w", v.Path, ErrNotRepository)
	}
	return Risk{Uncommitted: s.risk.Uncommitted, Untracked: s.risk.Untracked, Busy: s.risk.Busy}, err
}

// Risk returns what would be lost if the directory, a clone of the repository, were removed. For a
// repository on a server, it queries the server. After an error everything may be at risk, and a
// directory that is not a clone is at risk completely: it counts as one untracked file. A directory
// that is empty or gone has nothing.
func (v Volume) Risk(ctx context.Context, repo string) (r Risk, err error) {
	defer wrap(&err, "check for unsaved work in %s", v.Path)
	text := lookOnVolume + riskOnVolume
	if v.Server != nil {
		text = lookOnVolume + unpushed + riskOnVolume
	}
	s, err := v.look(ctx, text)
	switch {
	case err != nil:
		return r, err
	case !s.checkout.Exists || s.checkout.Empty:
		return r, nil
	case !s.checkout.Git:
		return Risk{Untracked: 1}, nil
	}
	if v.Server != nil {
		r = s.risk
		for _, commit := range s.refs {
			if s.unpushed[commit] {
				r.Lacking++
			}
		}
		if r.Lacking == 0 {
			r.Dropped = len(s.unpushed)
		}
		return r, nil
	}
	lost, err := lacking(ctx, repo, s.refs)
	if err != nil {
		return r, err
	}
	r = s.risk
	for _, commit := range s.refs {
		if lost[commit] {
			r.Lacking++
		}
	}
	if r.Lacking > 0 {
		return r, nil
	}
	lost, err = lacking(ctx, repo, append(s.past, s.refs...))
	r.Dropped = len(lost)
	return r, err
}

// countOnVolume prints the commit that the clone was made from. If that is the known one, it prints how
// many commits the clone lacks and how many the base lacks, what git diff --numstat -z prints, an empty
// name and the untracked files.
const countOnVolume = `path=$1 branch=$2 known=$3 base=$4
cd "$path" || exit 1
start=$(g for-each-ref --count=1 --format='%(objectname)' ` + startRef + ` "refs/remotes/origin/$branch") || exit 1
echo "$start"
[ "$start" = "$known" ] || exit 0
g rev-list --count --left-right "$base...HEAD" -- || exit 1
base=$(g merge-base "$base" HEAD) || exit 1
g diff --numstat -z --no-renames --no-ext-diff --no-textconv --ignore-submodules=dirty "$base" -- || exit 1
printf '\0'
g ls-files --others --exclude-standard -z || exit 1
`

// Count counts the changes of the clone in the directory and its commits, compared with a base of the
// repository. It returns the base with commits that the clone has. If known is the commit that the clone was
// made from, or is empty and that is the base, this takes one command there, else two.
func (v Volume) Count(ctx context.Context, repo, branch string, base Base, known string) (c Changes, within Base, err error) {
	defer wrap(&err, "count the changes in %s", v.Path)
	start := known
	if start == "" {
		start, _ = commitOf(ctx, repo, base.Commit) // the clone prints the right one
	}
	for range 2 {
		if isCommit(start) {
			within = base.From(ctx, repo, start)
		}
		out := output(outputLimit)
		if err := v.run(ctx, nil, out, script(countOnVolume, v.Path, branch, within.Start, within.Commit)...); err != nil {
			return c, within, err
		}
		found, rest, _ := strings.Cut(out.String(), "\n")
		if !isCommit(found) {
			return c, within, errNoStart
		}
		if start = found; start != within.Start {
			continue
		}
		apart, rest, _ := strings.Cut(rest, "\n")
		lines, names, counted := strings.Cut("\x00"+rest, "\x00\x00")
		if _, err := fmt.Sscanf(apart, "%d\t%d", &c.Behind, &c.Ahead); err != nil || !counted {
			return c, within, fmt.Errorf("it printed %.80q", out.String())
		}
		c.Added, c.Removed, _ = countLines(lines)
		c.Untracked = len(namesIn(names))
		return c, within, nil
	}
	return c, within, errors.New("the base was brought to it meanwhile")
}

// bundleOut prints the commit of a branch, and a bundle of the commits that those named after it
// lack, if there are any.
const bundleOut = `set -e
path=$1 ref=refs/heads/$2
cd "$path"
shift 2
tip=$(g rev-parse --quiet --verify "$ref^{commit}") || { echo "it has no branch ${ref#refs/heads/}" >&2; exit 1; }
echo "$tip"
for known; do
	shift
	if g cat-file -e "$known^{commit}" 2>/dev/null; then set -- "$@" "^$known"; fi
done
[ "$(g rev-list --count --max-count=1 "$tip" "$@" --)" != 0 ] || exit 0
g bundle create --quiet - "$ref" "$@"
`

// Fetch fetches a branch of the clone in the directory into a repository of this machine, as
// a ref with a full name. Only the commits that the repository lacks travel.
func (v Volume) Fetch(ctx context.Context, repo, branch, ref string) (f Fetched, err error) {
	defer wrap(&err, "fetch %s from %s", branch, v.Path)
	before, err := tip(ctx, repo, ref)
	if err != nil {
		return f, err
	}
	start, _ := v.Start(ctx, branch) // of another clone it is not known
	own, err := tip(ctx, repo, headsPrefix+branch)
	if err != nil {
		return f, err
	}
	args := []string{v.Path, branch}
	for _, commit := range []string{before, start, own} {
		if commit == "" || slices.Contains(args[2:], commit) {
			continue
		}
		if lost, err := lacking(ctx, repo, []string{commit}); err == nil && !lost[commit] {
			args = append(args, commit)
		}
	}
	file, err := os.CreateTemp("", "agentform-fetch-")
	if err != nil {
		return f, err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	if err := v.run(ctx, nil, file, script(bundleOut, args...)...); err != nil {
		return f, err
	}
	commit, rest, err := afterLine(file)
	if err != nil {
		return f, err
	}
	if rest {
		bundle := file.Name() + ".bundle"
		defer os.Remove(bundle)
		if err := copyRest(file, bundle); err != nil {
			return f, err
		}
		_, err = run(ctx, repo, "-c", "fetch.fsckObjects=true",
			"fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--no-auto-maintenance",
			"--", bundle, "+"+headsPrefix+branch+":"+ref)
	} else {
		_, err = run(ctx, repo, "update-ref", ref, commit)
	}
	if err != nil {
		return f, err
	}
	if f.Commit, err = tip(ctx, repo, ref); err == nil && f.Commit != commit {
		err = fmt.Errorf("the bundle has commit %s, and the branch is at %s: fetch again", f.Commit, commit)
	}
	if err != nil {
		return f, err
	}
	f.Moved = f.Commit != before
	f.Ahead, err = aheadOf(ctx, repo, ref)
	return f, err
}

// afterLine reads the commit in the first line of a file, and reports whether more follows.
func afterLine(file *os.File) (commit string, more bool, err error) {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return "", false, err
	}
	b := bufio.NewReader(file)
	line, err := b.ReadString('\n')
	if commit = strings.TrimSpace(line); err != nil || !isCommit(commit) {
		return "", false, errors.New("the connection ended before the commit was named")
	}
	_, err = b.Peek(1)
	_, seek := file.Seek(int64(len(line)), io.SeekStart)
	return commit, err == nil, seek
}

// copyRest copies the rest of a file to a new one.
func copyRest(file *os.File, to string) error {
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, file)
	return errors.Join(err, out.Close())
}

// Start returns the commit that the clone in the directory was made from, or of the base that it was
// brought last.
func (v Volume) Start(ctx context.Context, branch string) (string, error) {
	commit, err := StartOf(ctx, v.Git(), branch)
	wrap(&err, "clone %s", v.Path)
	return commit, err
}

// StartOf returns the commit that the clone in which git runs was made from, or of the base that it
// was brought last.
func StartOf(ctx context.Context, git Runner, branch string) (string, error) {
	out, err := git(ctx, "for-each-ref", "--format=%(objectname)", startRef, "refs/remotes/origin/"+branch) // in the order of their names
	if commit, _, _ := strings.Cut(out, "\n"); err == nil && isCommit(commit) {
		return commit, nil
	}
	return "", errors.Join(errNoStart, err)
}

var errNoStart = errors.New("it does not record the commit that it was made from")
