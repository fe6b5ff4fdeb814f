package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
)

// engine is Docker's API, without a library between: the floor is to be as low as it
// can be.
type engine struct{ http.Client }

// newEngine is the engine that the docker command has by default.
func newEngine(t *testing.T) engine {
	t.Helper()
	socket := "/var/run/docker.sock"
	if host := os.Getenv("DOCKER_HOST"); host != "" {
		path, local := strings.CutPrefix(host, "unix://")
		if !local {
			t.Fatalf("DOCKER_HOST is %s: the floor is measured on an engine of this machine", host)
		}
		socket = path
	}
	return engine{http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		},
		MaxIdleConnsPerHost: workers,
	}}}
}

// call asks the engine for something that has to succeed, decodes the answer into
// into if it is not nil, and returns its text.
func (d engine) call(t *testing.T, method, path string, body, into any) string {
	t.Helper()
	var text bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&text).Encode(body); err != nil {
			t.Error(err)
		}
	}
	request, err := http.NewRequestWithContext(t.Context(), method, "http://docker"+path, &text)
	if err != nil {
		t.Error(err)
		return ""
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := d.Do(request)
	if err != nil {
		t.Error(err)
		return ""
	}
	defer answer.Body.Close()
	said, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode >= 300 {
		t.Errorf("%s %s: %s %v\n%s", method, path, answer.Status, err, said)
		return ""
	}
	if into != nil {
		if err := json.Unmarshal(said, into); err != nil {
			t.Errorf("%s %s: %v", method, path, err)
		}
	}
	return string(said)
}
