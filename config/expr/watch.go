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

// Watch ends a load that exceeds its limits, such as an accidental loop.
type Watch struct {
	Limits
	over atomic.Bool
	at   atomic.Pointer[hcl.Range] // being evaluated
}

// Limits are what a load may use.
type Limits struct {
	Time   time.Duration // of the processor, and of the clock
	Memory uint64        // bytes of the heap
}

// stopped is the panic that ends a load.
type stopped struct{}

// Enter records what is evaluated next. It panics if the load has ended.
func (w *Watch) Enter(at *hcl.Range) {
	w.check()
	w.at.Store(at)
}

func (w *Watch) check() {
	if w.over.Load() {
		panic(stopped{})
	}
}

// Run returns an error if a load exceeds a limit. HCL cannot be interrupted: such a load
// continues until the next function or attribute.
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
		case heap() > held+2*w.Memory, heap() > held+w.Memory && afterGC() > held+w.Memory:
			err = fmt.Errorf("more than %d MiB of memory", w.Memory>>20)
		}
		if err != nil {
			w.over.Store(true)
			return err
		}
	}
}

// Problem returns the error of Run as a diagnostic at what was evaluated.
func (w *Watch) Problem(err error) *hcl.Diagnostic {
	return &hcl.Diagnostic{
		Severity: hcl.DiagError, Summary: "Evaluation takes too much", Subject: w.at.Load(),
		Detail: fmt.Sprintf("Evaluating the manifest takes %s. This expression was evaluated when the limit was reached.", err),
	}
}

func processor() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // never fails for the process itself
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// heap includes garbage.
func heap() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

func afterGC() uint64 {
	runtime.GC()
	return heap()
}
