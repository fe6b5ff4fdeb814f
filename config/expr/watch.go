package expr

import (
	"fmt"
	"runtime"
	"runtime/metrics"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hashicorp/hcl/v2"
)

// Watch ends a load that takes too much. A manifest is its user's own file: the limits
// catch a loop that was written by mistake.
type Watch struct {
	Limits
	over atomic.Bool
	at   atomic.Pointer[hcl.Range] // of what is evaluated
}

// Limits are what a load may use.
type Limits struct {
	Time   time.Duration // of the processor, and of the clock
	Memory uint64        // bytes of the heap
}

// stopped is the panic of a load that is over.
type stopped struct{}

// Enter notes what is evaluated next. It panics if the load is over.
func (w *Watch) Enter(at *hcl.Range) {
	w.check()
	w.at.Store(at)
}

// check panics if the load is over.
func (w *Watch) check() {
	if w.over.Load() {
		panic(stopped{})
	}
}

// Run runs a load and returns nil, or what it exceeded. HCL cannot be interrupted: a
// load that exceeds its limits stops in the background at the next function or
// attribute, and run returns before.
func (w *Watch) Run(load func()) error {
	done := make(chan any, 1)
	go func() {
		defer func() { done <- recover() }()
		load()
	}()
	began, used, held := time.Now(), processor(), heap()
	ticks := time.NewTicker(10 * time.Millisecond)
	defer ticks.Stop()
	for {
		select {
		case problem := <-done:
			if problem != nil {
				panic(problem)
			}
			return nil
		case <-ticks.C:
		}
		var err error
		switch {
		case time.Since(began) > w.Time && processor()-used > w.Time:
			err = fmt.Errorf("more than %s of processor time", w.Time)
		case heap() > held+2*w.Memory, heap() > held+w.Memory && collected() > held+w.Memory:
			err = fmt.Errorf("more than %d MiB of memory", w.Memory>>20)
		}
		if err != nil {
			w.over.Store(true)
			return err
		}
	}
}

// Problem returns the error about a load that exceeded a limit, at what it evaluated.
func (w *Watch) Problem(err error) *hcl.Diagnostic {
	d := &hcl.Diagnostic{
		Severity: hcl.DiagError, Summary: "Evaluation takes too much",
		Detail: fmt.Sprintf("Evaluating the manifest takes %s. This expression was evaluated when the limit was reached.", err),
	}
	d.Subject = w.at.Load()
	return d
}

// processor returns the processor time that the process has taken.
func processor() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // never fails for the process itself
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// heap returns the bytes of all objects, those included that nothing refers to.
func heap() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// collected returns what heap does once nothing is left that nothing refers to.
func collected() uint64 {
	runtime.GC()
	return heap()
}
