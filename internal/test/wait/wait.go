// Package wait waits in tests until something is true.
package wait

import "time"

// T is what waits and may fail: a *testing.T, or one line of a script.
type T interface {
	Helper()
	Fatalf(format string, args ...any)
	// Deadline returns when the test is killed, if it is.
	Deadline() (at time.Time, ok bool)
}

// pause is the time between two looks. A look may start a program.
const pause = 50 * time.Millisecond

// For calls cond until it reports true. It fails the test with what cond saw last once 80 %
// of the time that was left until the test's deadline have passed. Without a deadline it
// waits forever.
func For(t T, what string, cond func() (saw any, ok bool)) {
	t.Helper()
	start := time.Now()
	deadline, limited := t.Deadline()
	patience := deadline.Sub(start) / 5 * 4
	for {
		saw, ok := cond()
		if ok {
			return
		}
		if waited := time.Since(start); limited && waited >= patience {
			t.Fatalf("waited %v until %s; last:\n%v", waited.Round(time.Second), what, saw)
			return
		}
		time.Sleep(pause)
	}
}
