package git

import (
	"context"
	"fmt"
	"strings"

	"github.com/agext/levenshtein"
)

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
