package plan

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentform/agentform/session"
)

// inDocker makes a session one of a container, with a clone.
func inDocker(s *session.Spec) {
	s.Runtime = session.RuntimeSpec{Kind: "docker", Name: "box", Docker: &session.DockerConfig{
		Image: "agents:1", CPUs: 2, Memory: 4 << 30, Env: map[string]string{"A": "b"}}}
	s.Workspace.Mode = session.Clone
}

// contained is a stage with a session in a container, as change leaves it.
func contained(change ...func(*session.Live)) *stage {
	s := newStage()
	s.in.World.Runtimes["docker"] = nil
	sp := spec("a", inDocker)
	change = append([]func(*session.Live){func(l *session.Live) {
		l.Location = session.Location{Runtime: "docker", Name: l.Mark.Address.OutsideName("shop"), Container: "c0ffee"}
	}}, change...)
	return s.want(sp).record(sp, func(r *session.Record) {
		r.Location = session.Location{Runtime: "docker", Name: r.Address.OutsideName("shop"), Container: "c0ffee"}
	}).live("a", change...)
}

func stopped(reason string) func(*session.Live) {
	return func(l *session.Live) { l.PlaceUp, l.Liveness, l.UnknownReason = false, session.Dead, reason }
}

// finished is contained of a one-shot agent that did its work.
func finished(change ...func(*session.Live)) *stage {
	s := contained(append([]func(*session.Live){exitedWith("self", 0, "")}, change...)...)
	s.in.Wanted[0].Agent.OneShot, s.in.Records[0].Spec.Agent.OneShot = true, true
	return s
}

func TestContainers(t *testing.T) {
	for name, test := range map[string]struct {
		stage        *stage
		want, detail string // of the change
		state        session.State
	}{
		"in sync": {contained(), "  a in_sync\n", "running", session.StateRunning},
		"the agent was left": {contained(exitedWith("self", 0, "")), "↻ a exited\n? a exited\n",
			"agent exited (exit status 0)", session.StateStale},
		"nobody knows how it ended": {contained(func(l *session.Live) { l.Liveness = session.Dead }), "↻ a stale\n? a stale\n",
			"agent exited", session.StateStale},
		"killed": {contained(stopped("the container was killed: out of memory")), "↻ a gone\n? a missing\n",
			"the container was killed: out of memory", session.StateError},
		"stopped, and nobody says why": {contained(stopped("")), "↻ a gone\n? a missing\n", "the container is not running", session.StateError},
		"the host was rebooted": {func() *stage {
			s := contained(stopped("the container was stopped"))
			s.in.World.BootID = "boot-2"
			return s
		}(), "↻ a host_rebooted\n? a missing\n", "host rebooted", session.StateError},
		"finished, and stopped since": {finished(stopped("the container was stopped")), "  a finished\n", "finished", session.StateStopped},
		"finished before a reboot": {func() *stage {
			s := finished(stopped("the container was stopped"))
			s.in.World.BootID = "boot-2"
			return s
		}(), "  a finished\n", "finished", session.StateStopped},
		"finished, and removed since": {func() *stage {
			s := finished()
			s.in.World.Runs["run-a"] = session.RunFacts{Exit: s.in.World.Lives[0].Exit}
			s.in.World.Lives = nil
			return s
		}(), "  a finished\n", "finished", session.StateStopped},
		"its time was up before it was stopped": {contained(exitedWith("timeout", 143, ""), stopped("the container was stopped")),
			"  a timeout\n", "stopped: its timeout passed after 0s; restart", session.StateStopped},
		"at work when it was stopped": {func() *stage {
			s := finished(stopped("the container was stopped"))
			s.in.World.Lives[0].Exit = nil
			return s
		}(), "↻ a gone\n? a missing\n", "the container was stopped", session.StateError},
		"removed": {func() *stage {
			s := contained()
			s.in.World.Lives = nil
			return s
		}(), "↻ a gone\n? a missing\n", "container is gone", session.StateError},
		"paused by somebody": {contained(func(l *session.Live) { l.Frozen = true }), "‖ a desired_running\n? a changed\n", "declared running", session.StatePaused},
		"the engine does not answer": {func() *stage {
			s := contained().all(spec("b")).want(spec("c"))
			s.in.World.Runtimes["docker"] = errors.New("docker: no daemon")
			s.in.World.Lives = s.in.World.Lives[1:] // what it holds cannot be seen
			return s
		}(), "  a runtime_unreachable\n  b in_sync\n+ c not_recorded\n!  cannot reach docker\n? a unreachable\n", "docker: no daemon", session.StateUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			p := Compute(test.stage.in)
			if diff := cmp.Diff(test.want, story(p)); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
			if c := p.Changes[0]; withCode(c.Detail, c.Remedy) != test.detail || c.State != test.state {
				t.Errorf("%s: %q, want %s: %q", c.State, c.Detail, test.state, test.detail)
			}
		})
	}
}

// TestDockerSettings: what of a container's settings changed is named, and makes it
// anew; its agents' environment only starts them again.
func TestDockerSettings(t *testing.T) {
	for name, test := range map[string]struct {
		set  func(*session.DockerConfig)
		want string
	}{
		"image":       {func(d *session.DockerConfig) { d.Image = "agents:2" }, "± a spec_changed runtime.docker.image\n"},
		"limits":      {func(d *session.DockerConfig) { d.CPUs, d.Memory, d.PIDs = 1, 1<<30, 9 }, "± a spec_changed runtime.docker.cpus runtime.docker.memory runtime.docker.pids\n"},
		"mounts":      {func(d *session.DockerConfig) { d.Mounts = []session.Mount{{Source: "/a", Target: "/b"}} }, "± a spec_changed runtime.docker.mounts\n"},
		"environment": {func(d *session.DockerConfig) { d.Env = nil }, "↻ a spec_changed runtime.docker.env\n"},
	} {
		t.Run(name, func(t *testing.T) {
			s := contained()
			d := *s.in.Wanted[0].Runtime.Docker
			test.set(&d)
			s.in.Wanted[0].Runtime.Docker = &d
			if diff := cmp.Diff(test.want, story(Compute(s.in))); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}

// TestIgnoredDockerSettings: what one session ignores is not kept from the others
// of its runtime block.
func TestIgnoredDockerSettings(t *testing.T) {
	s := contained()
	shared := &session.DockerConfig{Image: "agents:2", CPUs: 2, Memory: 4 << 30, Env: map[string]string{"A": "b"}}
	s.in.Wanted[0].Runtime.Docker = shared
	s.in.Wanted[0].Lifecycle.IgnoreChanges = []string{"runtime.docker.image"}
	s.in.Records[0].Spec.Lifecycle = s.in.Wanted[0].Lifecycle
	s.want(spec("b", inDocker, func(b *session.Spec) { b.Runtime.Docker = shared }))
	p := Compute(s.in)
	if diff := cmp.Diff("  a in_sync\n+ b not_recorded\n", story(p)); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
	if is := p.Changes[1].After.Runtime.Docker.Image; is != "agents:2" {
		t.Errorf("the other session is made of %s", is)
	}
}

func TestCloneThatIsThere(t *testing.T) {
	clone := func(branch string, change ...func(*session.Spec)) *stage {
		s := newStage()
		s.in.World.Runtimes["docker"] = nil
		s.in.World.Checkouts["/ws/a"] = session.Checkout{Path: "/ws/a", Exists: true, Git: branch != "", Repo: "/ws/a/.git", Branch: branch}
		return s.want(spec("a", append([]func(*session.Spec){inDocker}, change...)...))
	}
	explicit := func(s *session.Spec) { s.Workspace.Explicit = true }
	for name, test := range map[string]struct {
		stage        *stage
		want, detail string
	}{
		"kept from before":  {clone("agents/a"), "+ a not_recorded\n", ""},
		"on another branch": {clone("main"), "  a branch_mismatch\n! a branch mismatch\n", "; switch in its container"},
		"no clone":          {clone(""), "  a path_occupied\n! a workspace path is occupied\n", "not a clone that agentform made"},
		"a person's":        {clone("agents/a", explicit), "  a path_occupied\n! a workspace path is occupied\n", "not a clone that agentform made"},
		"that cannot be told": {func() *stage {
			s := clone("")
			s.in.World.Checkouts["/ws/a"] = session.Checkout{Path: "/ws/a", Exists: true, Err: errors.New("it leads out of the clone")}
			return s
		}(), "  a workspace_unreadable\n! a workspace cannot be read\n", "it leads out of the clone"},
	} {
		t.Run(name, func(t *testing.T) {
			p := Compute(test.stage.in)
			if diff := cmp.Diff(test.want, story(p)); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
			if len(p.Problems) > 0 && !strings.Contains(withCode(p.Problems[0].Detail, p.Problems[0].Remedy), test.detail) {
				t.Errorf("it says %q", p.Problems[0].Detail)
			}
		})
	}
}

// TestContainerThatDoesNotAnswer: nothing is done on a guess, and a person who wants it
// ended or made anew is not kept from that by what runs in it.
func TestContainerThatDoesNotAnswer(t *testing.T) {
	silent := func(l *session.Live) { l.Liveness, l.UnknownReason = session.Unknown, "it does not answer" }
	a := []session.Address{session.Single("a")}
	byHand := contained(silent).options(Options{Targets: a})
	byHand.in.ByHand, byHand.in.Records[0].Override = true, &session.Override{Desired: session.Stopped, By: "ann"}
	unwanted := contained(silent)
	unwanted.in.Wanted = nil
	inTmux := newStage().record(spec("a")).live("a", silent)
	byHub := contained(silent).options(Options{Restart: a})
	byHub.in.Hub = &Hub{}
	for name, test := range map[string]struct {
		stage *stage
		want  string
	}{
		"left alone":        {contained(silent), "  a runtime_unreachable\n? a unreachable\n"},
		"restart asked for": {contained(silent).options(Options{Restart: a}), "↻ a requested\n? a unreachable\n"},
		"made anew":         {contained(silent).options(Options{Replace: a}), "± a requested\n? a unreachable\n"},
		"destroyed":         {contained(silent).options(Options{Destroy: true}), "- a destroy\n? a unreachable\n"},
		"not wanted":        {unwanted, "- a not_in_manifest\n? a unreachable\n"},
		"stopped by hand":   {byHand, "‖ a desired_stopped\n? a unreachable\n"},
		"by the hub":        {byHub, "  a runtime_unreachable\n? a unreachable\n"},
		"in tmux":           {inTmux, "  a runtime_unreachable\n! a its state is unknown, so it is not destroyed\n? a unreachable\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, story(Compute(test.stage.in))); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}

// A plan with targets fails only if the engine of a target cannot be reached.
func TestEngineThatIsNotConcerned(t *testing.T) {
	for name, c := range map[string]struct {
		targets []session.Address
		errors  int
	}{
		"no target":     {nil, 1},
		"in tmux":       {[]session.Address{session.Single("b")}, 0},
		"in the engine": {[]session.Address{session.Single("a")}, 1},
	} {
		s := contained(func(l *session.Live) { l.Liveness = session.Unknown }).record(spec("b")).live("b").options(Options{Targets: c.targets})
		s.in.World.Runtimes["docker"] = errors.New("it hangs")
		if p := Compute(s.in); len(p.Problems) != c.errors || p.Complete == (c.errors > 0) {
			t.Errorf("%s: problems %v, complete %v", name, p.Problems, p.Complete)
		}
	}
}

// TestCopiedContainer: what bears the mark of another that stands is never the session,
// whether that is on record or not.
func TestCopiedContainer(t *testing.T) {
	copied := func(l *session.Live) { l.Copied, l.Location.Container = true, "c0fefe" }
	both := contained().live("a", copied)
	unrecorded := contained().live("a", copied)
	unrecorded.in.Records = nil
	for name, test := range map[string]struct {
		stage *stage
		want  string
	}{
		"beside its own": {both, "  a in_sync\n? a orphaned\n"},
		"not on record":  {unrecorded, "> a ours_unrecorded\n? a orphaned\n"},
	} {
		t.Run(name, func(t *testing.T) {
			p := Compute(test.stage.in)
			if diff := cmp.Diff(test.want, story(p)); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
			if l := p.Changes[0].Live; l == nil || l.Copied {
				t.Errorf("taken for the session: %+v", l)
			}
		})
	}
}

// TestAdoptedContainer: in a container that was adopted nothing can be started, so
// nothing in it is ended for that either; another can be made in its place.
func TestAdoptedContainer(t *testing.T) {
	adopted := func(l *session.Live) { l.Location.Pane = "%0" }
	a := []session.Address{session.Single("a")}
	for name, test := range map[string]struct {
		stage *stage
		want  string
	}{
		"lives":        {contained(adopted), "  a in_sync\n"},
		"as requested": {contained(adopted).options(Options{Restart: a}), "  a no_shim\n! a cannot start an agent in its container\n"},
		"stopped":      {contained(adopted, stopped("")), "  a no_shim\n! a cannot start an agent in its container\n? a missing\n"},
		"made anew":    {contained(adopted, stopped("")).options(Options{Replace: a}), "± a requested\n? a missing\n"},
		"our own":      {contained().options(Options{Restart: a}), "↻ a requested\n"},
		"taken away":   {contained(adopted).gone(), "↻ a gone\n? a missing\n"},
	} {
		t.Run(name, func(t *testing.T) {
			p := Compute(test.stage.in)
			if diff := cmp.Diff(test.want, story(p)); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
			if len(p.Problems) > 0 && p.Problems[0].Remedy != (session.Remedy{Code: session.RemedyReplaceContainer, Address: "session.a"}) {
				t.Errorf("it says %q", p.Problems[0].Detail)
			}
		})
	}
}

func (s *stage) options(o Options) *stage {
	s.in.Options = o
	return s
}

// gone takes away all that lives.
func (s *stage) gone() *stage {
	s.in.World.Lives = nil
	return s
}

// withCode returns a detail with the code of its remedy.
func withCode(detail string, r session.Remedy) string {
	if r.Code != "" {
		detail += "; " + string(r.Code)
	}
	if r.InContainer {
		detail += " in its container"
	}
	return detail
}
