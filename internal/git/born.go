package git

import "context"

// HasCommits reports whether there is any commit in the repository that a folder
// belongs to: a branch has to begin somewhere.
func HasCommits(ctx context.Context, dir string) (bool, error) {
	out, err := run(ctx, dir, "rev-list", "--all", "-n", "1")
	return out != "", err
}
