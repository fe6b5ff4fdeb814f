package git

import (
	"context"
	"fmt"
	"strings"
)

// Identity is who commits in a repository, as variables for the git of somebody who
// does not see this machine's settings. What is not set is not in it.
func Identity(ctx context.Context, repo string) (map[string]string, error) {
	env := map[string]string{}
	for key, names := range map[string][]string{
		"user.name": {"GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"}, "user.email": {"GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"},
	} {
		value, err := setting(ctx, repo, key)
		if err != nil {
			return nil, fmt.Errorf("read who commits in %s: %w", repo, err)
		}
		for _, name := range names {
			if value != "" {
				env[name] = value
			}
		}
	}
	return env, nil
}

// setting is a value of git's configuration; empty: it is not set.
func setting(ctx context.Context, dir, key string) (string, error) {
	value, err := run(ctx, dir, "config", "--get", key)
	if err != nil && exitCode(err) != 1 { // 1: it is not set
		return "", err
	}
	return strings.TrimRight(value, "\n"), nil
}
