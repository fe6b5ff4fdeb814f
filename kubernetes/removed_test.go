package kubernetes

import (
	"net/http"
	"strings"
	"testing"
)

// TestRemoveWorkspace checks that the claim of a workspace is removed, and not one that has got its name
// meanwhile.
func TestRemoveWorkspace(t *testing.T) {
	for name, replaced := range map[string]bool{"removed": false, "replaced meanwhile": true} {
		a, c := newAPI(t)
		config := Config{Lineage: "lineage"}
		claim := config.claimOf("/agentform/workspaces/a/b")
		put := func() {
			a.put("persistentvolumeclaims/"+claim, object{"kind": "PersistentVolumeClaim", "apiVersion": "v1", "metadata": object{"name": claim}})
		}
		put()
		serve := c.http.Transport
		c.http.Transport = roundTripper(func(q *http.Request) (*http.Response, error) {
			if replaced && q.Method == http.MethodDelete && strings.HasSuffix(q.URL.Path, claim) {
				put()
			}
			return serve.RoundTrip(q)
		})
		if err := c.runtime(config).RemoveWorkspace(t.Context(), "/agentform/workspaces/a/b"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, there := a.objects["persistentvolumeclaims/"+claim]; there != replaced {
			t.Errorf("%s: a claim is there: %v", name, there)
		}
	}
}
