package git

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Who commits is what the repository says, else what this machine does; of what
// neither says, nothing.
func TestIdentity(t *testing.T) {
	repo := newRepo(t)
	git(t, repo, "config", "user.name", "of the repository")
	git(t, repo, "config", "user.email", "")
	got, err := Identity(t.Context(), repo)
	want := map[string]string{"GIT_AUTHOR_NAME": "of the repository", "GIT_COMMITTER_NAME": "of the repository"}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	git(t, repo, "config", "user.email", "team@example.org")
	if got, err = Identity(t.Context(), repo); err != nil || got["GIT_AUTHOR_EMAIL"] != "team@example.org" || got["GIT_COMMITTER_EMAIL"] != "team@example.org" {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := Identity(t.Context(), t.TempDir()+"/none"); err == nil {
		t.Errorf("who commits where there is nothing: %v", got)
	}
}
