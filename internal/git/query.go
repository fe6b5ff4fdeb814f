package git

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/agext/levenshtein"
)

// Toplevel returns the top of the checkout that contains dir. The error is ErrNotRepository
// if there is none.
func Toplevel(ctx context.Context, dir string) (string, error) {
	out, err := run(ctx, dir, "rev-parse", "--show-toplevel")
	return strings.TrimSuffix(out, "\n"), err
}

// HasCommits reports whether the repository of a directory has any commit.
func HasCommits(ctx context.Context, dir string) (bool, error) {
	out, err := run(ctx, dir, "rev-list", "--all", "-n", "1")
	return out != "", err
}

// Tracked returns how many files below a directory are in the index of its repository.
func Tracked(ctx context.Context, dir string) int {
	out, err := run(ctx, dir, "ls-files", "-z", "--", ".")
	if err != nil {
		return 0
	}
	return strings.Count(out, "\x00")
}

func count(out string) (int, error) {
	n, err := strconv.Atoi(strings.TrimSpace(out))
	if err != nil {
		return 0, fmt.Errorf("git printed %q, expected a number", out)
	}
	return n, nil
}

// Identity returns who commits in a repository, as variables for a git without this
// machine's settings.
func Identity(ctx context.Context, repo string) (env map[string]string, err error) {
	defer wrap(&err, "read who commits in %s", repo)
	env = map[string]string{}
	for key, names := range map[string][]string{
		"user.name": {"GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"}, "user.email": {"GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"},
	} {
		value, err := setting(ctx, repo, key)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if value != "" {
				env[name] = value
			}
		}
	}
	return env, nil
}

func setting(ctx context.Context, dir, key string) (string, error) {
	value, err := run(ctx, dir, "config", "--get", key)
	if err != nil && exitCode(err) != 1 { // 1: it is not set
		return "", err
	}
	return strings.TrimRight(value, "\n"), nil
}

// BaseError reports that the base of a new branch does not exist in its repository.
type BaseError struct {
	Repo, Base string
	Near       string // the most similar branch or tag; empty: none is
}

// Error suggests the most similar name.
func (e *BaseError) Error() string {
	text := fmt.Sprintf("base %q does not exist in repository %s", e.Base, e.Repo)
	if e.Near != "" {
		text += fmt.Sprintf("; did you mean %q?", e.Near)
	}
	return text
}

// Short returns the same.
func (e *BaseError) Short() string { return e.Error() }

// CheckBase returns a *BaseError if the branch does not exist in the repository and cannot
// be created at base. Any other error is git's.
func CheckBase(ctx context.Context, repo, branch, base string) error {
	if there, err := hasBranch(ctx, repo, branch); there || err != nil {
		return err
	}
	_, err := commitOf(ctx, repo, base)
	return err
}

// nearestRef returns the branch or tag whose name is at most two edits away from name, or "".
func nearestRef(ctx context.Context, repo, name string) string {
	out, err := run(ctx, repo, "for-each-ref", "--count=1000", "--format=%(refname:short)", "refs/heads", "refs/tags", "refs/remotes")
	if err != nil {
		return ""
	}
	best, least := "", 3
	for ref := range strings.FieldsSeq(out) {
		if d := levenshtein.Distance(ref, name, nil); d < least {
			best, least = ref, d
		}
	}
	return best
}
