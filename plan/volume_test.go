package plan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentform/agentform/session"
)

// TestVolumes: what a cluster does to no volume is an error of the plan, and not a
// replacement that changes nothing.
func TestVolumes(t *testing.T) {
	const gib = 1 << 30
	on := func(class string, size int64, change ...func(*session.Spec)) session.Spec {
		return spec("a", append([]func(*session.Spec){func(s *session.Spec) {
			s.Runtime = session.RuntimeSpec{Kind: "kubernetes", Name: "team", Kubernetes: &session.KubernetesConfig{Image: "agents:1",
				Namespace: "agents", Storage: session.PodStorage{Class: class, Size: size}}}
			s.Workspace.Mode = session.Clone
		}}, change...)...)
	}
	other := func(s *session.Spec) { s.Runtime.Kubernetes.Namespace = "others" }
	ignored := func(s *session.Spec) { s.Lifecycle.IgnoreChanges = []string{"runtime.kubernetes.storage.size"} }
	for name, test := range map[string]struct {
		want         session.Spec
		story, error string
	}{
		"as it was":         {on("fast", 20*gib), "  a in_sync\n", ""},
		"larger":            {on("fast", 40*gib), "± a spec_changed runtime.kubernetes.storage.size\n", ""},
		"smaller":           {on("fast", 10*gib), "  a error\n! a volume cannot change\n", "it has 21474836480 bytes, and 10737418240 are declared"},
		"smaller, ignored":  {on("fast", 10*gib, ignored), "~ a spec_changed lifecycle.ignore_changes\n", ""},
		"of another class":  {on("slow", 20*gib), "  a error\n! a volume cannot change\n", `its storage class is "fast", and "slow" is declared`},
		"another namespace": {on("slow", 20*gib, other), "± a spec_changed runtime.kubernetes.namespace runtime.kubernetes.storage.class\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage()
			was := on("fast", 20*gib)
			s.in.World.Runtimes[was.Runtime.Engine()], s.in.World.Runtimes[test.want.Runtime.Engine()] = nil, nil
			place := session.Location{Runtime: "kubernetes", Name: was.Address.OutsideName("shop"), Container: "agents/a-0"}
			s.want(test.want).record(was, func(r *session.Record) { r.Location = place }).live("a", func(l *session.Live) { l.Location = place })
			p := Compute(s.in)
			if diff := cmp.Diff(test.story, story(p)); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
			if test.error != "" && (len(p.Problems) != 1 || !strings.HasPrefix(p.Problems[0].Detail, test.error) || p.Problems[0].Remedy.Code != session.RemedyNewVolume) {
				t.Errorf("it says %+v", p.Problems)
			}
		})
	}
}
