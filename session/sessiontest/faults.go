package sessiontest

import (
	"slices"
	"sync"
	"time"
)

// Op names an operation of the runtime, for faults and for the list of calls.
type Op string

// The operations.
const (
	OpObserve Op = "observe"
	OpCreate  Op = "create"
	OpRestart Op = "restart"
	OpStop    Op = "stop"
	OpRemove  Op = "remove"
	OpPause   Op = "pause"
	OpResume  Op = "resume"
	OpSend    Op = "send"
	OpCapture Op = "capture"
)

// Faults are what goes wrong with the calls of a runtime.
type Faults struct {
	mu   sync.Mutex
	next map[Op][]fault
	slow map[Op]time.Duration
	down error
}

type fault struct {
	in   int
	err  error
	late bool
}

// Fail makes the n-th next call of the operation (1 is the next) return err instead of
// doing anything.
func (f *Faults) Fail(op Op, n int, err error) { f.add(op, fault{in: n, err: err}) }

// FailAfter makes the n-th next call of the operation succeed and return err: its answer
// was lost.
func (f *Faults) FailAfter(op Op, n int, err error) { f.add(op, fault{in: n, err: err, late: true}) }

func (f *Faults) add(op Op, x fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.next[op] = append(f.next[op], x)
}

// Unreachable makes every call return err. Nil ends that.
func (f *Faults) Unreachable(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.down = err
}

// Slow makes each call of the operation wait before it does anything. A call whose
// context ends in that time does nothing.
func (f *Faults) Slow(op Op, d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.slow[op] = d
}

// of returns the delay of a call, and the errors before and after its work.
func (f *Faults) of(op Op) (delay time.Duration, before, after error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.next[op] = slices.DeleteFunc(f.next[op], func(x fault) bool { return x.in < 1 })
	for i := range f.next[op] {
		switch x := &f.next[op][i]; {
		case x.in > 1:
		case x.late:
			after = x.err
		default:
			before = x.err
		}
		f.next[op][i].in--
	}
	return f.slow[op], before, after
}

func (f *Faults) unreachable() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.down
}
