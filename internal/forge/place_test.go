package forge

import "testing"

func TestAddress(t *testing.T) {
	for remote, want := range map[string]string{
		"git@github.com:shop/api.git":                       "https://github.com/shop/api/compare/main...agents/api%231?expand=1",
		"https://me:secret@github.com/shop/api":             "https://github.com/shop/api/compare/main...agents/api%231?expand=1",
		"ssh://git@ssh.github.com:443/shop/api.git":         "https://github.com/shop/api/compare/main...agents/api%231?expand=1",
		"git@gitlab.example.org:group/sub/api.git":          "https://gitlab.example.org/group/sub/api/-/merge_requests/new?merge_request%5Bsource_branch%5D=agents%2Fapi%231&merge_request%5Btarget_branch%5D=main",
		"https://gitlab.example.org:8443/shop/api.git":      "https://gitlab.example.org:8443/shop/api/-/merge_requests/new?merge_request%5Bsource_branch%5D=agents%2Fapi%231&merge_request%5Btarget_branch%5D=main",
		"git@bitbucket.org:shop/api.git":                    "https://bitbucket.org/shop/api/pull-requests/new?source=agents%2Fapi%231&dest=main",
		"https://bitbucket.example.org/scm/SHOP/api.git":    "https://bitbucket.example.org/projects/SHOP/repos/api/pull-requests?create&sourceBranch=refs%2Fheads%2Fagents%2Fapi%231&targetBranch=refs%2Fheads%2Fmain",
		"ssh://git@bitbucket.example.org:7999/~ann/api.git": "https://bitbucket.example.org/users/ann/repos/api/pull-requests?create&sourceBranch=refs%2Fheads%2Fagents%2Fapi%231&targetBranch=refs%2Fheads%2Fmain",
		"ssh://git@codeberg.org/shop/api.git":               "https://codeberg.org/shop/api/compare/main...agents/api%231",
		"git@git.example.org:shop/api.git":                  "",
		"/srv/git/api.git":                                  "",
		"file:///srv/git/api.git":                           "",
		"../api.git":                                        "",
	} {
		if got := PlaceOf(remote).Address("agents/api#1", "main"); got != want {
			t.Errorf("%s:\n got %s\nwant %s", remote, got, want)
		}
	}
	if p := PlaceOf("/srv/git/api.git"); p != (Place{}) {
		t.Errorf("a folder is at %v", p)
	}
}

func TestOffered(t *testing.T) {
	said := "remote: \nremote: Create a pull request for 'x':\nremote:   https://git.example.org/shop/api/compare/main...x\nremote: \nTo git.example.org:shop/api.git\n"
	if got := Offered(said); got != "https://git.example.org/shop/api/compare/main...x" || Offered("To x\n") != "" {
		t.Errorf("got %q", got)
	}
	if got := LastAddress("Creating…\nhttps://github.com/shop/api/pull/12\n"); got != "https://github.com/shop/api/pull/12" || LastAddress("none") != "" {
		t.Errorf("got %q", got)
	}
}
