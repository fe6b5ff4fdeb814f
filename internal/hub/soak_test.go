package hub_test

import (
	"flag"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/hub"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/session/sessiontest"
)

// soakDays is how many simulated days TestSoak takes: make soak SOAK_DAYS=365.
var soakDays = flag.Int("soak", 30, "how many simulated `days` TestSoak takes")

// used is what a hub and its project take.
type used struct {
	files, runs int
	bytes, heap uint64
	allocs      uint64        // since the measurement before
	cpu         time.Duration // likewise
}

// meter measures, and remembers what was counted before.
type meter struct {
	room   *room
	allocs uint64
	cpu    time.Duration
}

func (m *meter) read() used {
	m.room.rt.Forget()
	runtime.GC()
	var u used
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		m.room.t.Fatal(err)
	}
	cpu := time.Duration(usage.Utime.Nano())
	u.heap, u.allocs, u.cpu = mem.HeapAlloc, mem.Mallocs-m.allocs, cpu-m.cpu
	err := filepath.WalkDir(m.room.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if filepath.Base(filepath.Dir(path)) == "runs" {
				u.runs++
			}
			return nil
		}
		if strings.HasPrefix(d.Name(), history.TranscriptName) {
			return nil // it has a bound of its own, 64 MiB a session, that takes longer to reach
		}
		u.files++
		info, err := d.Info()
		if err == nil {
			u.bytes += uint64(info.Size())
		}
		return err
	})
	if err != nil {
		m.room.t.Fatal(err)
	}
	runtime.ReadMemStats(&mem)
	m.allocs, m.cpu = mem.Mallocs, cpu
	return u
}

func (u used) String() string {
	return fmt.Sprintf("%d files, %d directories of runs, %d KiB, heap %d KiB, %d allocations, %s", u.files, u.runs, u.bytes>>10, u.heap>>10, u.allocs, u.cpu)
}

// A hub that runs for a month beside agents that crash again and again, agents whose
// screens never rest, and a clock that jumps, takes as much at its end as after its
// first week: files, bytes, memory and processor.
func TestSoak(t *testing.T) {
	const day = 24 * time.Hour
	week := max(1, min(7, *soakDays/4))
	in(t, func(r *room) {
		screen := strings.Repeat(strings.Repeat("the agent prints what it thinks ", 3)+"\n", 300)
		crashing := func(s *session.Spec) {
			s.Health.Interval = session.Duration(10 * time.Minute)
			s.Restart.Policy, s.Restart.Attempts, s.Restart.Window = "always", 1_000_000, session.Duration(day)
			s.Restart.Backoff.Max = session.Duration(4 * time.Hour)
		}
		printing := func(s *session.Spec) {
			s.Health.Interval = session.Duration(10 * time.Minute)
			s.Agent.Patterns.Blocked = []string{"^Shall I go on"}
			s.Agent.StatusBarLines = 3
		}
		var specs []session.Spec
		for i := range 3 {
			name := fmt.Sprint("crash", i)
			r.rt.Script(place(name), sessiontest.Step{Screen: screen}, sessiontest.Step{After: time.Second, Exit: &session.Exit{Cause: "self", Code: 1}})
			specs = append(specs, r.spec(name, crashing))
		}
		for i := range 2 {
			specs = append(specs, r.spec(fmt.Sprint("print", i), printing))
		}
		r.apply(specs...)
		h, stop := r.hub(func(c *hub.Config) { c.Notify = nil })
		defer stop()
		turn := 0
		pass := func(days int) {
			for range days * 8 {
				turn++
				for i := range 2 {
					r.rt.Edit(place(fmt.Sprint("print", i)), func(s *sessiontest.State) {
						s.Live.Screen, s.Live.MovedAt = screen+fmt.Sprint("line ", turn), time.Now()
						if turn%2 == 0 {
							s.Live.Screen += "\nShall I go on?"
						}
					})
				}
				if turn%33 == 0 { // a clock that is set, forward and back
					r.jump.Store(int64(time.Duration(turn%3-1) * time.Hour))
				}
				time.Sleep(3 * time.Hour)
			}
		}
		m := &meter{room: r}
		pass(2 * week)
		m.read()
		pass(week)
		first := m.read()
		pass(max(0, *soakDays-4*week))
		m.read()
		pass(week)
		last := m.read()
		t.Logf("a week at the beginning: %s", first)
		t.Logf("a week at the end:       %s", last)

		restarts := r.launches("crash0")
		if restarts < 5**soakDays {
			t.Errorf("crash0 was started %d times in %d days: nothing was tested", restarts, *soakDays)
		}
		if n := len(r.events("print0", history.StatusChanged)); n < 10 {
			t.Errorf("print0 changed its status %d times", n)
		}
		if last.runs > 4*len(specs) {
			t.Errorf("%d directories of runs of %d sessions", last.runs, len(specs))
		}
		grown := func(what string, before, after, slack uint64) {
			if after > before+before/4+slack {
				t.Errorf("%s: %d in a week at the beginning, %d in one at the end", what, before, after)
			}
		}
		grown("files", uint64(first.files), uint64(last.files), 4)
		grown("bytes", first.bytes, last.bytes, 1<<20)
		grown("bytes of memory", first.heap, last.heap, 2<<20)
		grown("allocations", first.allocs, last.allocs, 0)
		grown("nanoseconds of processor", uint64(2*first.cpu), uint64(last.cpu), uint64(time.Second))
		for _, s := range specs {
			size := history.Size(filepath.Join(r.dir, "agents", s.Role, r.record(s.Address.Block()).ID))
			if size == 0 || size > 1<<20 {
				t.Errorf("the history of %s has %d bytes", s.Address, size)
			}
		}
		if h.Snapshot().Fault != nil {
			t.Error(h.Snapshot().Fault)
		}
	})
}
