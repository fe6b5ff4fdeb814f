package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// BaseRef has, in a clone, the commit of the base that its agent was asked to merge.
const BaseRef = "refs/agentform/base"

// Move is a commit of a repository to which the branch of a clone is to move.
type Move struct {
	Branch string
	From   string // the commit of the branch, which the repository has
	To     string
	Base   string // the commit of the base that To has
	// Rewrite means that To need not have From.
	Rewrite bool
}

// intoClone reads a bundle with a commit of the repository on its standard input, and fetches that.
const intoClone = `set -e
path=$1
cd "$path"
bundle=.git/agentform.bundle
rm -f "$bundle" # it may be a link that leads elsewhere
trap 'rm -f "$bundle"' EXIT
set -C
cat >"$bundle"
set +C
g fetch --quiet --no-write-fetch-head --no-tags --no-recurse-submodules --no-auto-maintenance "$bundle" ` + borrowed + `
`

// startAtBase records that the clone has a commit of the base from now on.
const startAtBase = `
start=` + startRef + `
[ -n "$(g rev-parse --quiet --verify "$start" || true)" ] || start=refs/remotes/origin/$branch
g update-ref --no-deref "$start" "$base"
`

// moveClone follows intoClone. git refuses to overwrite what is not committed, and then the branch
// has not moved.
const moveClone = `branch=$2 from=$3 to=$4 base=$5 how=$6
if [ "$(g symbolic-ref --quiet HEAD)" != "refs/heads/$branch" ] || [ "$(g rev-parse --quiet --verify 'HEAD^{commit}')" != "$from" ]; then
	echo "the branch has moved in the meantime" >&2
	exit 1
fi
ignored=
set -f # else a name is a pattern
IFS='
'
for name in $(g -c core.quotePath=false diff --name-only --no-renames --diff-filter=A "$from" "$to"); do
	if [ -e "$name" ] || [ -L "$name" ]; then ignored="$ignored $name"; fi
done
unset IFS
set +f
if [ -n "$ignored" ]; then echo "the base has files that are in the way, uncommitted:$ignored" >&2; exit 1; fi
changed=$(g --work-tree=. status --porcelain --no-renames --untracked-files=no --ignore-submodules=dirty)
if [ -n "$changed" ]; then echo "files have changed in the meantime" >&2; exit 1; fi
case $how in
rewrite)
	g reset --quiet --keep "$to"
	was=$(g rev-parse --quiet --verify ORIG_HEAD)
	if [ "$was" != "$from" ]; then
		g reset --quiet --keep "$was"
		echo "the branch has moved in the meantime" >&2
		exit 1
	fi
	;;
*) g -c merge.autoStash=false merge --quiet --no-stat --no-squash --ff-only "$to" ;;
esac
` + startAtBase

// offerBase follows intoClone.
const offerBase = `branch=$2 base=$3
g update-ref --no-deref ` + BaseRef + ` "$base"
` + startAtBase

// Move brings a commit of the repository into the clone in the directory, and moves its branch there
// with the checkout. It fails if the branch is elsewhere by now, or something is not committed.
func (v Volume) Move(ctx context.Context, repo string, m Move) (err error) {
	defer wrap(&err, "clone %s", v.Path)
	how := "forward"
	if m.Rewrite {
		how = "rewrite"
	}
	return v.bring(ctx, repo, m.To, m.From, moveClone, m.Branch, m.From, m.To, m.Base, how)
}

// Offer brings a commit of the base into the clone in the directory, as BaseRef. Its branch is at the
// commit from.
func (v Volume) Offer(ctx context.Context, repo, branch, from, base string) (err error) {
	defer wrap(&err, "bring the base into the clone %s", v.Path)
	return v.bring(ctx, repo, base, from, offerBase, branch, base)
}

// Bring brings a commit of the repository into the clone in the directory, without a ref. Its branch
// is at the commit from.
func (v Volume) Bring(ctx context.Context, repo, commit, from string) (err error) {
	defer wrap(&err, "bring commit %.7s into the clone %s", commit, v.Path)
	return v.bring(ctx, repo, commit, from, "")
}

// bring brings a commit into the clone, which has the commit known, and runs a script there.
func (v Volume) bring(ctx context.Context, repo, commit, known, then string, args ...string) error {
	bundle, err := bundleOf(ctx, repo, commit, "^"+known)
	if err != nil {
		return err
	}
	defer bundle.Close()
	ctx, cancel := limited(context.WithoutCancel(ctx)) // what has begun is finished
	defer cancel()
	return v.run(ctx, bundle, io.Discard, script(intoClone+then, append([]string{v.Path}, args...)...)...)
}

// ShellHere is the Shell of this machine.
func ShellHere(ctx context.Context, stdin io.Reader, stdout io.Writer, argv ...string) error {
	c := exec.CommandContext(ctx, argv[0], argv[1:]...)
	said := output(outputLimit)
	c.Env, c.Stdin, c.Stdout, c.Stderr = environ(), stdin, stdout, said
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // it does not get the terminal's Ctrl-C
	c.WaitDelay = killAfter
	if err := c.Run(); err != nil {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(said.String()))
	}
	return nil
}

// inputFile is where a Shell of FileShell has its standard input, in the workspace.
const inputFile = ".git/agentform.input"

// FileShell returns the Shell of a clone at path on this machine whose commands run elsewhere, where
// the path is the same. run runs a command line without a standard input, and returns its output.
// The clone is its agent's: no link in it leads to a file outside.
func FileShell(path string, run func(ctx context.Context, argv []string) (string, error)) Shell {
	return func(ctx context.Context, stdin io.Reader, stdout io.Writer, argv ...string) error {
		if stdin != nil {
			remove, err := leaveFile(path, stdin)
			if err != nil {
				return err
			}
			defer remove()
			argv = append([]string{"sh", "-c", `exec "$@" <"$0"`, filepath.Join(path, inputFile)}, argv...)
		}
		out, err := run(ctx, argv)
		if err != nil {
			return fmt.Errorf("%w: %s", err, strings.TrimSpace(out))
		}
		_, err = io.WriteString(stdout, out)
		return err
	}
}

// leaveFile writes inputFile in the clone at path. One that a killed process left is replaced.
func leaveFile(path string, from io.Reader) (remove func(), err error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	err = root.Remove(inputFile)
	if err == nil || errors.Is(err, os.ErrNotExist) {
		err = writeInto(root, from)
	}
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return func() {
		_ = root.Remove(inputFile) // else the next one does
		_ = root.Close()
	}, nil
}

// writeInto writes inputFile. Its agent may be another user.
func writeInto(root *os.Root, from io.Reader) error {
	f, err := root.OpenFile(inputFile, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	if err == nil {
		err = f.Chmod(0o644)
	}
	return errors.Join(err, f.Close())
}
