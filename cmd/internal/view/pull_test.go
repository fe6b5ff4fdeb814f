package view

import (
	"testing"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/internal/status"
)

func TestPullRequest(t *testing.T) {
	const url = "https://github.com/shop/api/pull/12"
	for want, p := range map[string]*api.PullRequest{
		url:             nil,
		url + " (open)": {Number: 12, URL: url, State: "open", Rounds: 3},
		url + " (open, checks failed, 2 reviews, sent 1/3)": {Number: 12, URL: url, State: "open", Checks: "failed", Reviews: 2, Round: 1, Rounds: 3},
		url + " (merged)": {Number: 12, URL: url, State: "merged"},
	} {
		var x status.Detail
		x.PR, x.Pull = url, p
		if got := pullRequest(x); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
