package git

import (
	"context"
	"strings"
)

// Tracked returns how many files below a directory are in the index of the repository
// around it; none if there is no repository.
func Tracked(ctx context.Context, dir string) int {
	out, err := run(ctx, dir, "ls-files", "-z", "--", ".")
	if err != nil {
		return 0
	}
	return strings.Count(out, "\x00")
}
