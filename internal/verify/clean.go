package verify

import (
	"fmt"

	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/session"
)

// untestable is the exit status of a command for a commit that cannot be tested, as for git bisect
// run.
const untestable = 125

// inCheckout is a script that runs commands in a fresh checkout of the commit $1. The checkout
// shares the objects of the repository; git clone --shared would refuse that of another user,
// whatever safe.directory allows by the environment. A time limit kills the script and leaves the
// checkout to be removed by the next one of the run.
const inCheckout = `
dir=${TMPDIR:-/tmp}/agentform-verify-$AGENTFORM_RUN
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
trap 'cd / && rm -rf "$dir"' EXIT
rm -rf "$dir" && mkdir -m 700 "$dir" &&
objects=$(git rev-parse --path-format=absolute --git-path objects) &&
git init --quiet --object-format="$(git rev-parse --show-object-format)" "$dir/work" && echo "$objects" >"$dir/work/.git/objects/info/alternates" &&
git -C "$dir/work" -c advice.detachedHead=false checkout --quiet --detach "$1" &&
cd "$dir/work" || exit %d
%s
`

// Fresh returns a command that runs the setup of a workspace and another command in a fresh
// checkout of a commit, which the workspace that it runs in has.
func Fresh(commit string, setup, command []string) []string {
	run := plaintext.ShellWords(command...)
	if len(setup) > 0 {
		run = plaintext.ShellWords(setup...) + " && " + run
	}
	return []string{"sh", "-c", fmt.Sprintf(inCheckout, untestable, run), "sh", commit}
}

// commitAll is a command that commits what is not ignored with the message $1.
func commitAll(message string) []string {
	return []string{"sh", "-c", `git add --all && git commit --quiet --message "$1"`, "sh", message}
}

// untested returns why a commit could not be tested, without what was printed: that may hold a
// secret, and the error is kept in the state.
func untested(v session.Verification) error {
	if v.Code != untestable {
		return nil
	}
	return fmt.Errorf("its commit cannot be tested: the command exited with %d; its output is in %s", untestable, v.Log)
}
