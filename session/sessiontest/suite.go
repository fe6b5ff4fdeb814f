package sessiontest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentform/agentform/session"
)

// Harness is a runtime under test, with the functions that the tests need. The suite reads and
// writes no files; only these functions access a session's files. A function that instructs an
// agent returns when the agent has done it or will soon.
type Harness struct {
	Runtime session.Runtime // empty; the harness closes it
	Lineage string          // Mark.Project of managed objects

	// Launch describes a run, with a new run id, of an agent that runs until an Exit. The suite
	// clears RunDir if the runtime does not share files (Traits).
	Launch func(t *testing.T, name string) session.Launch
	// Exit makes the agent in the place exit with the code.
	Exit func(t *testing.T, p session.Location, code int)
	// Kill ends the agent in the place with SIGKILL, from outside.
	Kill func(t *testing.T, p session.Location)
	// Say makes the agent print the lines, and nothing else.
	Say func(t *testing.T, p session.Location, lines ...string)
	// Heard returns the lines that were sent to the agent.
	Heard func(t *testing.T, p session.Location) []string
	// Environment returns a variable as the agent sees it.
	Environment func(t *testing.T, p session.Location, name string) string
	// Visible returns what others can see of the place: the arguments of its processes,
	// the runtime's own description of it.
	Visible func(t *testing.T, p session.Location) string
	// Foreign creates someone else's object of that name.
	Foreign func(t *testing.T, name string) session.Location
}

// Suite runs the tests that every runtime passes, each with a harness of its own. Traits select
// tests that require more of the runtime.
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
		{"pause by freeze", freezes},
		{"pause by nonsense", func(t *testing.T, h Harness) { refusesPause(t, h, "", "nonsense") }},
		{"pause of another run", func(t *testing.T, h Harness) { refusesPause(t, h, otherRun, session.Detach, session.Freeze) }},
		{"a restart lifts a pause", restartLiftsPause},
		{"a paused agent is stopped", stopPaused},
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
		t.Run(c.name, func(t *testing.T) {
			h := open(t)
			if launch := h.Launch; !h.Runtime.Traits().HostFiles {
				h.Launch = func(t *testing.T, name string) session.Launch {
					l := launch(t, name)
					l.RunDir = ""
					return l
				}
			}
			c.test(t, h)
		})
	}
}

// otherRun is the id of a run that no session has.
const otherRun = "0123456789abcdef"

// timeout bounds each wait. What is awaited takes milliseconds on an idle machine, and much longer on a busy one.
const timeout = time.Minute

// until waits until true returns true.
func until(t *testing.T, what string, true func() bool) {
	t.Helper()
	for end := time.Now().Add(timeout); !true(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not true after %v: %s", timeout, what)
		}
	}
}

// pauseMode returns the strongest mode of Pause that the runtime has.
func (h Harness) pauseMode() string {
	if h.Runtime.Traits().Freeze {
		return session.Freeze
	}
	return session.Detach
}

func (h Harness) create(t *testing.T, name string) (session.Location, session.Launch) {
	t.Helper()
	l := h.Launch(t, name)
	p, err := h.Runtime.Create(t.Context(), l)
	if err != nil {
		t.Fatalf("create: %v", err)
	}
	return p, l
}

// observe retries until the liveness of every session is known: a remote one need not answer a busy
// machine in time.
func (h Harness) observe(t *testing.T, screens bool) []session.Live {
	t.Helper()
	for end := time.Now().Add(timeout); ; {
		lives, err := h.Runtime.Observe(t.Context(), screens)
		if err != nil {
			t.Fatalf("observe: %v", err)
		}
		i := slices.IndexFunc(lives, func(l session.Live) bool { return !l.Foreign && l.Liveness == session.Unknown })
		if i < 0 {
			return lives
		}
		if time.Now().After(end) {
			t.Fatalf("%s is unknown for %v: %s", lives[i].Location.Name, timeout, lives[i].UnknownReason)
		}
		t.Logf("%s is unknown: %s", lives[i].Location.Name, lives[i].UnknownReason)
	}
}

// find returns the session of that name, and whether it exists.
func (h Harness) find(t *testing.T, name string) (session.Live, bool) {
	t.Helper()
	for _, l := range h.observe(t, false) {
		if l.Location.Name == name {
			return l, true
		}
	}
	return session.Live{}, false
}

// see returns the session of that name, which must exist.
func (h Harness) see(t *testing.T, name string) session.Live {
	t.Helper()
	l, ok := h.find(t, name)
	if !ok {
		t.Fatalf("there is no session %q", name)
	}
	return l
}

// unpaused checks that the session is not paused.
func (h Harness) unpaused(t *testing.T, name string) {
	t.Helper()
	if live := h.see(t, name); live.InputOff || live.Frozen {
		t.Errorf("input off %v, frozen %v; want neither", live.InputOff, live.Frozen)
	}
}

// dies waits until the session's agent is dead.
func (h Harness) dies(t *testing.T, name string) session.Live {
	t.Helper()
	var l session.Live
	until(t, "the agent of "+name+" is dead", func() bool {
		l = h.see(t, name)
		return l.Liveness == session.Dead
	})
	return l
}

// hears waits until the agent has received the line.
func (h Harness) hears(t *testing.T, p session.Location, line string) {
	t.Helper()
	until(t, p.Name+" hears "+line, func() bool { return slices.Contains(h.Heard(t, p), line) })
}

func (h Harness) send(t *testing.T, p session.Location, in session.Input) {
	t.Helper()
	if err := h.Runtime.Send(t.Context(), p, in); err != nil {
		t.Fatalf("send: %v", err)
	}
}

// remove removes the place, which must be gone then.
func (h Harness) remove(t *testing.T, p session.Location) {
	t.Helper()
	if err := h.Runtime.Remove(t.Context(), p); err != nil {
		t.Fatalf("remove: %v", err)
	}
	if _, there := h.find(t, p.Name); there {
		t.Fatal("the session still exists")
	}
}

func (h Harness) stop(t *testing.T, p session.Location, l session.Launch) {
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
