package git

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// Progress says how far the work in the checkout at path has come since it left
// base (empty: HEAD, so that only what is not committed counts): the commits
// that base lacks, and the files that differ, committed or not. A renamed file
// is two; ignored files do not count.
func Progress(ctx context.Context, path, base string) (ahead, changed int, err error) {
	fail := func(err error) (int, int, error) {
		return 0, 0, fmt.Errorf("measure progress of %s: %w", path, err)
	}
	from, err := commitOf(ctx, path, base)
	if err != nil {
		return fail(err)
	}
	out, err := run(ctx, path, "rev-list", "--count", from+"..HEAD")
	if err != nil {
		return fail(err)
	}
	if ahead, err = count(out); err != nil {
		return fail(err)
	}
	if ahead > 0 { // else HEAD is where they parted
		if out, err = run(ctx, path, "merge-base", from, "HEAD"); err == nil {
			from = strings.TrimSpace(out)
		} else if exitCode(err) != 1 { // 1: they have nothing in common
			return fail(err)
		}
	} else {
		from = "HEAD"
	}
	tracked, err := run(ctx, path, "diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--ignore-submodules=dirty", from, "--")
	if err != nil {
		return fail(err)
	}
	untracked, err := run(ctx, path, "ls-files", "--others", "--exclude-standard", "-z")
	if err != nil {
		return fail(err)
	}
	return ahead, strings.Count(tracked, "\x00") + strings.Count(untracked, "\x00"), nil
}

// count reads the number that git printed.
func count(out string) (int, error) {
	n, err := strconv.Atoi(strings.TrimSpace(out))
	if err != nil {
		return 0, fmt.Errorf("git printed %q, want a number", out)
	}
	return n, nil
}
