package status_test

import (
	"errors"
	"testing"

	"github.com/agentform/agentform/internal/land"
	"github.com/agentform/agentform/internal/status"
)

// TestLandingUnsaved checks that the document says what is not committed of sessions that do not land for that.
func TestLandingUnsaved(t *testing.T) {
	d := status.LandingOf(land.Many{Members: []*land.Member{
		{Refused: &land.Refusal{Why: "it has 1 untracked file", Unsaved: "1 untracked file"}}, {Refused: errors.New("it is working")},
	}}, true)
	if len(d.LeftOut) != 2 || d.LeftOut[0].Unsaved != "1 untracked file" || d.LeftOut[1].Unsaved != "" {
		t.Errorf("left out are %+v", d.LeftOut)
	}
}
