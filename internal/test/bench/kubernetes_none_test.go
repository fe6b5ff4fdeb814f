//go:build real && !kubernetes

package bench

import "testing"

// inPods needs a cluster: make bench starts one.
func inPods(_ *testing.T, m *measurement) {
	m.leftOut("sessions in Kubernetes, which take a cluster and the build tag kubernetes")
}
