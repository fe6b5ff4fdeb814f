package sessiontest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentform/agentform/session"
)

// Harness is a runtime under test and the hands that the tests need on it. The
// functions that tell an agent something return when it has done it, or when it
// cannot be known, soon before.
type Harness struct {
	Runtime session.Runtime // empty; what it needs to be closed is the harness's
	Lineage string          // Mark.Project of what is ours

	// Launch describes a run, under a new run id, of an agent that stays until it
	// is told to leave.
	Launch func(t *testing.T, name string) session.Launch
	// Exit tells the agent in the place to leave with the code.
	Exit func(t *testing.T, p session.Place, code int)
	// Kill ends the agent in the place with SIGKILL, from outside.
	Kill func(t *testing.T, p session.Place)
	// Say tells the agent to print the lines, and nothing else.
	Say func(t *testing.T, p session.Place, lines ...string)
	// Heard is all that the agent has been sent so far, a line a line.
	Heard func(t *testing.T, p session.Place) []string
	// Environment is the variable as the agent sees it.
	Environment func(t *testing.T, p session.Place, name string) string
	// Visible is everything about the place that others can see: the arguments
	// of its processes, the runtime's own description of it.
	Visible func(t *testing.T, p session.Place) string
	// Foreign puts someone else's object of that name there.
	Foreign func(t *testing.T, name string) session.Place
}

// Suite runs the tests that every runtime passes, each on a harness of its own.
func Suite(t *testing.T, open func(t *testing.T) Harness) {
	for _, c := range []struct {
		name string
		test func(*testing.T, Harness)
	}{
		{"created is seen", createdIsSeen},
		{"empty is no error", emptyIsNoError},
		{"a taken name is refused", takenName},
		{"stopped is dead in a standing place", stopped},
		{"stop of another run", stopOfAnotherRun},
		{"restart in the same place", restarts},
		{"restart is refused while the agent lives", restartAlive},
		{"removed is gone", removed},
		{"removed with a live agent", removedAlive},
		{"what is gone says so", goneSaysSo},
		{"exit code", exitCode},
		{"exit signal", exitSignal},
		{"pause by detach", func(t *testing.T, h Harness) { pauses(t, h, session.Detach) }},
		{"pause by freeze", func(t *testing.T, h Harness) { pauses(t, h, session.Freeze) }},
		{"pause by nonsense", pauseByNonsense},
		{"pause of another run", pauseOfAnotherRun},
		{"a restart lifts a pause", restartLiftsPause},
		{"a frozen agent is stopped", stopFrozen},
		{"what is sent stays in its session", sentStays},
		{"text without enter, then a key", sendKey},
		{"capture", captures},
		{"screens only when asked for", screens},
		{"foreign is left alone", foreign},
		{"many at once", manyAtOnce},
		{"one name at once", oneNameAtOnce},
		{"secrets", secrets},
		{"attach names the session", attach},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, open(t)) })
	}
}

// patience is how long something may take to show. It takes milliseconds; a
// machine that builds meanwhile may be slow.
const patience = 20 * time.Second

// until waits for something to become true.
func until(t *testing.T, what string, true func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !true(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("after %v it is still not so: %s", patience, what)
		}
	}
}

func (h Harness) create(t *testing.T, name string) (session.Place, session.Launch) {
	t.Helper()
	l := h.Launch(t, name)
	p, err := h.Runtime.Create(t.Context(), l)
	if err != nil {
		t.Fatalf("create: %v", err)
	}
	return p, l
}

func (h Harness) observe(t *testing.T, screens bool) []session.Live {
	t.Helper()
	lives, err := h.Runtime.Observe(t.Context(), screens)
	if err != nil {
		t.Fatalf("observe: %v", err)
	}
	return lives
}

// find is the session of that name, and whether it is there.
func (h Harness) find(t *testing.T, name string) (session.Live, bool) {
	t.Helper()
	for _, l := range h.observe(t, false) {
		if l.Place.Name == name {
			return l, true
		}
	}
	return session.Live{}, false
}

// see is the session of that name, which must be there.
func (h Harness) see(t *testing.T, name string) session.Live {
	t.Helper()
	l, ok := h.find(t, name)
	if !ok {
		t.Fatalf("there is no session %q", name)
	}
	return l
}

// dies waits until the session's agent is seen dead.
func (h Harness) dies(t *testing.T, name string) session.Live {
	t.Helper()
	var l session.Live
	until(t, "the agent of "+name+" is dead", func() bool {
		l = h.see(t, name)
		return l.Vital == session.Dead
	})
	return l
}

// hears waits until the agent has been sent the line.
func (h Harness) hears(t *testing.T, p session.Place, line string) {
	t.Helper()
	until(t, p.Name+" hears "+line, func() bool { return slices.Contains(h.Heard(t, p), line) })
}

func (h Harness) send(t *testing.T, p session.Place, in session.Input) {
	t.Helper()
	if err := h.Runtime.Send(t.Context(), p, in); err != nil {
		t.Fatalf("send: %v", err)
	}
}

func (h Harness) stop(t *testing.T, p session.Place, l session.Launch) {
	t.Helper()
	if err := h.Runtime.Stop(t.Context(), p, l.Mark.Run, l.Stop); err != nil {
		t.Fatalf("stop: %v", err)
	}
}

func attach(t *testing.T, h Harness) {
	p, l := h.create(t, "app-attach-000000")
	if argv := h.Runtime.Attach(p); !strings.Contains(strings.Join(argv, " "), l.Name) {
		t.Errorf("%q does not name %q", argv, l.Name)
	}
}
