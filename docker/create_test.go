package docker

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/agentform/agentform/session"
)

// TestUnstuck checks that the error of an engine that was killed while it started a container is
// reported with a remedy.
func TestUnstuck(t *testing.T) {
	a := session.Single("api")
	for said, want := range map[string]string{
		"Error response from daemon: task 1510cfbcfb3f: already exists":   `agentform apply --replace session.api`,
		"Error response from daemon: driver failed programming something": "docker: Error response",
	} {
		if err := unstuck(errors.New(said), a); !strings.Contains(err.Error(), said) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
	if err := unstuck(nil, a); err != nil {
		t.Error(err)
	}
	cut := &url.Error{Op: "Post", URL: "http://%2Fvar%2Frun%2Fdocker.sock/v1.41/containers/x/start", Err: context.Canceled}
	if err := unstuck(cut, a); !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "%2F") {
		t.Errorf("interrupted: %v", err)
	}
}
