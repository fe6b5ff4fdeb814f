package plan

import (
	"errors"
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
			s.Runtime = session.RuntimeSpec{Kind: "kubernetes", Name: "team", Kubernetes: &session.KubernetesConfig{Image: "agents:1", User: "1000:1000",
				Namespace: "agents", Storage: session.PodStorage{Class: class, Size: size, AccessMode: "ReadWriteOncePod"}}}
			s.Workspace.Mode = session.Clone
		}}, change...)...)
	}
	other := func(s *session.Spec) { s.Runtime.Kubernetes.Namespace = "others" }
	ignored := func(s *session.Spec) { s.Lifecycle.IgnoreChanges = []string{"runtime.kubernetes.storage.size"} }
	for name, test := range map[string]struct {
		want         session.Spec
		story, error string
	}{
		"as it was":          {on("fast", 20*gib), "  a in_sync\n", ""},
		"larger":             {on("fast", 40*gib), "± a spec_changed runtime.kubernetes.storage.size\n", ""},
		"smaller":            {on("fast", 10*gib), "  a error\n! a volume cannot change\n", "it has 21474836480 bytes, and 10737418240 are declared"},
		"smaller, ignored":   {on("fast", 10*gib, ignored), "~ a spec_changed lifecycle.ignore_changes\n", ""},
		"of another class":   {on("slow", 20*gib), "  a error\n! a volume cannot change\n", `its storage class is "fast", and "slow" is declared`},
		"of another mode":    {on("fast", 20*gib, func(s *session.Spec) { s.Runtime.Kubernetes.Storage.AccessMode = "ReadWriteOnce" }), "  a error\n! a volume cannot change\n", "its access mode is ReadWriteOncePod, and ReadWriteOnce is declared"},
		"another repository": {on("fast", 20*gib, func(s *session.Spec) { s.Workspace.Repo = "https://git.example/b.git" }), "  a error\n! a volume cannot change\n", "its clone is of /src/shop, and https://git.example/b.git is declared"},
		"another user":       {on("fast", 20*gib, func(s *session.Spec) { s.Runtime.Kubernetes.User = "2000:2000" }), "  a error\n! a volume cannot change\n", "its files are of user 1000, and 2000 is declared"},
		"another group":      {on("fast", 20*gib, func(s *session.Spec) { s.Runtime.Kubernetes.User = "1000:2000" }), "± a spec_changed runtime.kubernetes.user\n", ""},
		"a moved repository": {on("fast", 20*gib, func(s *session.Spec) { s.Workspace.Repo = "/moved" }), "± a spec_changed workspace.repo\n", ""},
		"another namespace":  {on("slow", 20*gib, other), "± a spec_changed runtime.kubernetes.namespace runtime.kubernetes.storage.class\n", ""},
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
			if kept := "; what was not fetched stays on " + was.Runtime.Engine(); strings.Contains(p.Changes[0].Detail, kept) != (was.Runtime.Engine() != test.want.Runtime.Engine()) {
				t.Errorf("it says %q", p.Changes[0].Detail)
			}
			if test.error != "" && (len(p.Problems) != 1 || !strings.HasPrefix(p.Problems[0].Detail, test.error) || p.Problems[0].Remedy.Code != session.RemedyNewVolume) {
				t.Errorf("it says %+v", p.Problems)
			}
		})
	}
}

// TestVolumeNeverUsed checks that a session whose workspace does not exist yet gets another volume:
// its creation was killed, and its pod waits for a volume of the wrong class.
func TestVolumeNeverUsed(t *testing.T) {
	on := func(class string) session.Spec {
		return spec("a", func(s *session.Spec) {
			s.Runtime = session.RuntimeSpec{Kind: "kubernetes", Name: "team", Kubernetes: &session.KubernetesConfig{Image: "agents:1", Namespace: "agents", Storage: session.PodStorage{Class: class, Size: 1}}}
			s.Workspace.Mode = session.Clone
		})
	}
	place := session.Location{Runtime: "kubernetes", Name: on("never").Address.OutsideName("shop"), Container: "agents/a-0"}
	waits := func(l *session.Live) { l.Location, l.PlaceUp, l.Liveness = place, false, session.Dead }
	for name, test := range map[string]struct {
		change func(*session.Checkout, *session.Live)
		want   string
	}{
		"never bound": {func(co *session.Checkout, _ *session.Live) { *co = session.Checkout{Path: co.Path} }, "± a spec_changed runtime.kubernetes.storage.class\n"},
		"used":        {func(*session.Checkout, *session.Live) {}, "  a error\n! a volume cannot change\n"},
		"not known":   {func(co *session.Checkout, _ *session.Live) { co.Exists, co.Err = false, errors.New("no answer") }, ""},
		"its directory is gone": {func(co *session.Checkout, l *session.Live) {
			*co = session.Checkout{Path: co.Path}
			l.Checkout = co
		}, "  a error\n! a volume cannot change\n"},
	} {
		s := newStage()
		was := on("never")
		s.in.World.Runtimes[was.Runtime.Engine()] = nil
		s.want(on("local")).record(was, func(r *session.Record) { r.Location, r.Intent = place, session.Creating }).live("a", waits)
		co := s.in.World.Checkouts[was.Workspace.Path]
		test.change(&co, &s.in.World.Lives[0])
		s.in.World.Checkouts[was.Workspace.Path] = co
		p := Compute(s.in)
		got := story(p)
		if test.want == "" && strings.Contains(got, "±") || test.want != "" && got != test.want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, test.want)
		}
	}
}
