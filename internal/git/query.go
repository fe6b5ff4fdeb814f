package git

import (
	"context"
	"fmt"
	"strconv"
	"strings"
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

// Progress returns how far the checkout at path is from base (empty: HEAD): the commits
// that base lacks, and the files that differ, committed or not. A renamed file counts twice,
// ignored files do not count.
func Progress(ctx context.Context, path, base string) (ahead, changed int, err error) {
	defer wrap(&err, "measure progress of %s", path)
	from, err := commitOf(ctx, path, base)
	if err != nil {
		return 0, 0, err
	}
	out, err := run(ctx, path, "rev-list", "--count", from+"..HEAD")
	if err != nil {
		return 0, 0, err
	}
	if ahead, err = count(out); err != nil {
		return 0, 0, err
	}
	if ahead > 0 { // else HEAD is the merge base
		if out, err = run(ctx, path, "merge-base", from, "HEAD"); err == nil {
			from = strings.TrimSpace(out)
		} else if exitCode(err) != 1 { // 1: there is no merge base
			return 0, 0, err
		}
	} else {
		from = "HEAD"
	}
	tracked, err := run(ctx, path, "diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--ignore-submodules=dirty", from, "--")
	if err != nil {
		return 0, 0, err
	}
	untracked, err := run(ctx, path, "ls-files", "--others", "--exclude-standard", "-z")
	if err != nil {
		return 0, 0, err
	}
	return ahead, strings.Count(tracked, "\x00") + strings.Count(untracked, "\x00"), nil
}

// count parses a number that git printed.
func count(out string) (int, error) {
	n, err := strconv.Atoi(strings.TrimSpace(out))
	if err != nil {
		return 0, fmt.Errorf("git printed %q, want a number", out)
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

// setting returns a value of git's configuration; empty: not set.
func setting(ctx context.Context, dir, key string) (string, error) {
	value, err := run(ctx, dir, "config", "--get", key)
	if err != nil && exitCode(err) != 1 { // 1: it is not set
		return "", err
	}
	return strings.TrimRight(value, "\n"), nil
}
