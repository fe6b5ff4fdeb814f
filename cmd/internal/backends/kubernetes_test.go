//go:build real && kubernetes

package backends_test

import (
	"testing"

	"github.com/agentform/agentform/internal/environ"
	"github.com/agentform/agentform/internal/test/kubetest"
)

// TestKubernetes is TestKinds with a cluster.
func TestKubernetes(t *testing.T) {
	cluster := kubetest.Open(t)
	t.Setenv("KUBECONFIG", cluster.Kubeconfig())
	namespace := cluster.Namespace(t)
	kind{
		"kubernetes", map[string]string{"context": "test", "secret_suffix": "fleet"},
		environ.Vars{"AGENTFORM_KUBERNETES_NAMESPACE=" + namespace}, "Secret agentform-state-fleet in namespace " + namespace,
	}.test(t)
}
