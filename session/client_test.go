package session_test

import (
	"strings"
	"testing"

	"github.com/agentform/agentform/session"
)

// TestClient checks the docker command of an engine.
func TestClient(t *testing.T) {
	for want, c := range map[string]*session.DockerConfig{
		"docker":                                 nil,
		"docker -H unix:///run/a.sock":           {Host: "unix:///run/a.sock"},
		"docker -H ssh://ada@build":              {Host: "ssh://ada@build"},
		"docker --context desktop":               {Host: "desktop"},
		"docker --tlsverify -H tcp://build:2376": {Host: "tcp://build:2376"},
		"docker --tlsverify --tlscacert /c/ca.pem --tlscert /c/cert.pem --tlskey /c/key.pem -H tcp://build:2376": {Host: "tcp://build:2376", CertPath: "/c"},
	} {
		if got := strings.Join(c.Client(), " "); got != want {
			t.Errorf("%+v: %s, want %s", c, got, want)
		}
	}
}
