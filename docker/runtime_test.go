package docker

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/client"
)

// transport answers the requests to an engine without a network.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(q *http.Request) (*http.Response, error) { return f(q) }

// TestEventsOfAProject checks that Events requests the events of the project's containers.
// Without a project it requests those of every container with a mark.
func TestEventsOfAProject(t *testing.T) {
	for lineage, want := range map[string]string{"5e1f": "agentform.project=5e1f", "": "agentform.id"} {
		var requested filters.Args
		engine, err := client.NewClientWithOpts(client.WithHTTPClient(&http.Client{Transport: transport(func(q *http.Request) (*http.Response, error) {
			var err error
			requested, err = filters.FromJSON(q.URL.Query().Get("filters"))
			return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(""))}, err
		})}))
		if err != nil {
			t.Fatal(err)
		}
		r := Runtime{config: Config{Lineage: lineage}, engine: func() (*client.Client, error) { return engine, nil }}
		if err := r.Events(t.Context(), func() {}); err == nil || !strings.Contains(err.Error(), "closed the connection") {
			t.Errorf("lineage %q: %v", lineage, err)
		}
		if got := requested.Get("label"); !slices.Equal(got, []string{want}) {
			t.Errorf("lineage %q: requested events with the labels %q, want %q", lineage, got, want)
		}
	}
}
