package plan

import (
	"strings"
	"testing"

	"github.com/agentform/agentform/session"
)

// TestEdited shows what is done about places that someone edited.
func TestEdited(t *testing.T) {
	replicas := session.Edit{Field: "statefulset.spec.replicas", Declared: 1.0, Actual: 3.0}
	image := session.Edit{Field: "statefulset.spec.template.spec.containers[session].image", Declared: "a:1", Actual: "b:1", Restarts: true}
	edited := func(edits ...session.Edit) func(*session.Live) {
		return func(l *session.Live) { l.Edited = edits }
	}
	with := func(change ...func(*session.Live)) func(*session.Live) {
		return func(l *session.Live) {
			for _, c := range change {
				c(l)
			}
		}
	}
	env := func(s *session.Spec) { s.Env = map[string]string{"LOG": "debug"} }
	priority := func(s *session.Spec) { s.Priority = 7 }
	oneShot := func(s *session.Spec) { s.Agent.OneShot = true }
	policy := session.Edit{Field: "networkpolicy", Declared: "(there)"}
	ignoring := func(field string) func(*session.Spec) {
		return func(s *session.Spec) { s.Lifecycle.IgnoreChanges = []string{field} }
	}
	paused := func(s *session.Spec) { s.Desired = session.Paused }
	const (
		replicasField = " statefulset.spec.replicas"
		imageField    = " statefulset.spec.template.spec.containers[session].image"
		drifts        = "? a changed\n"
	)
	for name, test := range map[string]struct {
		stage func() *stage
		want  string
	}{
		"in place": {func() *stage {
			return newStage().want(spec("a")).record(spec("a")).live("a", edited(replicas))
		}, "~ a edited" + replicasField + "\n" + drifts},
		"with a restart": {func() *stage {
			return newStage().want(spec("a")).record(spec("a")).live("a", edited(image, replicas))
		}, "↻ a edited" + imageField + replicasField + "\n" + drifts + drifts},
		"ignored": {func() *stage {
			return newStage().want(spec("a", ignoring(replicas.Field))).record(spec("a", ignoring(replicas.Field))).live("a", edited(replicas))
		}, "  a in_sync\n"},
		"one of them ignored": {func() *stage {
			return newStage().want(spec("a", ignoring("statefulset.spec.template"))).record(spec("a", ignoring("statefulset.spec.template"))).live("a", edited(image, replicas))
		}, "~ a edited" + replicasField + "\n" + drifts},
		"ignored from now on": {func() *stage {
			return newStage().want(spec("a", ignoring(replicas.Field))).record(spec("a")).live("a", edited(replicas))
		}, "~ a spec_changed lifecycle.ignore_changes\n" + drifts},
		"all is ignored, but a network policy": {func() *stage {
			return newStage().want(spec("a", ignoring("all"))).record(spec("a", ignoring("all"))).live("a", edited(image, policy))
		}, "~ a edited networkpolicy\n" + drifts},
		"beside a change": {func() *stage {
			return newStage().want(spec("a", priority)).record(spec("a")).live("a", edited(replicas))
		}, "~ a spec_changed priority" + replicasField + "\n" + drifts},
		"beside a change that restarts": {func() *stage {
			return newStage().want(spec("a", env)).record(spec("a")).live("a", edited(replicas))
		}, "↻ a spec_changed env" + replicasField + "\n" + drifts},
		"a restart beside a change": {func() *stage {
			return newStage().want(spec("a", priority)).record(spec("a")).live("a", edited(image))
		}, "↻ a edited priority" + imageField + "\n" + drifts},
		"dead": {func() *stage {
			return newStage().want(spec("a")).record(spec("a")).live("a", with(exitedWith("self", 137, "SIGKILL"), edited(image)))
		}, "↻ a failed" + imageField + "\n? a stale\n" + drifts},
		"paused": {func() *stage {
			return newStage().want(spec("a", paused)).record(spec("a", paused)).live("a", with(edited(replicas), func(l *session.Live) { l.InputOff = true }))
		}, "~ a edited then pause" + replicasField + "\n" + drifts},
		"finished": {func() *stage {
			return newStage().want(spec("a", oneShot)).record(spec("a", oneShot)).live("a", with(exitedWith("self", 0, ""), edited(replicas)))
		}, "~ a edited" + replicasField + "\n" + drifts},
		"finished, and only a restart helps": {func() *stage {
			return newStage().want(spec("a", oneShot)).record(spec("a", oneShot)).live("a", with(exitedWith("self", 0, ""), edited(image)))
		}, "  a finished\n"},
		"unknown": {func() *stage {
			return newStage().want(spec("a")).record(spec("a")).live("a", edited(image), func(l *session.Live) { l.Liveness = session.Unknown })
		}, "  a runtime_unreachable\n? a unreachable\n"},
		"not in the state": {func() *stage {
			return newStage().want(spec("a")).checkout("/ws/a", "agents/a").live("a", edited(replicas))
		}, "> a ours_unrecorded then update" + replicasField + "\n"},
		"no longer wanted": {func() *stage {
			return newStage().record(spec("a")).live("a", edited(image))
		}, "- a not_in_manifest\n" + drifts},
		"under the hub, in place": {func() *stage {
			wanted := restartable("a")
			return newStage().want(wanted).record(wanted).live("a", edited(replicas)).byHub()
		}, "~ a edited" + replicasField + "\n" + drifts},
		"under the hub, with a restart": {func() *stage {
			wanted := restartable("a")
			return newStage().want(wanted).record(wanted).live("a", edited(image)).byHub()
		}, "… a backing_off" + imageField + "\n" + drifts},
	} {
		t.Run(name, func(t *testing.T) {
			if got := story(Compute(test.stage().in)); got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
	p := Compute(newStage().want(spec("a")).record(spec("a")).live("a", edited(image)).in)
	const want = `statefulset.spec.template.spec.containers[session].image is "b:1"; agentform made it "a:1"`
	if p.Changes[0].Detail != "edited outside of agentform: "+image.Field || p.Drift[0].Detail != want {
		t.Errorf("%q, %q", p.Changes[0].Detail, p.Drift[0].Detail)
	}
	if text := EditedWords(session.Live{Edited: []session.Edit{image, replicas}}, session.Lifecycle{}); !strings.HasSuffix(text, image.Field+", "+replicas.Field) {
		t.Error(text)
	}
}
