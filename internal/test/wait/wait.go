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
// waits forever. If saw is a func() string, For calls it when the test fails.
func For(t T, what string, cond func() (saw any, ok bool)) {
	t.Helper()
	start := time.Now()
	most, limited := patience(t)
	for {
		saw, ok := cond()
		if ok {
			return
		}
		if waited := time.Since(start); limited && waited >= most {
			if say, ok := saw.(func() string); ok {
				saw = say()
			}
			t.Fatalf("waited %v until %s; last:\n%+v", waited.Round(time.Second), what, saw)
			return
		}
		time.Sleep(pause)
	}
}

// Receive returns the next value of ch, or the zero value if ch is closed. It fails the test
// if neither happens in the time that For waits.
func Receive[E any](t T, what string, ch <-chan E) (e E) {
	t.Helper()
	var late <-chan time.Time
	most, limited := patience(t)
	if limited {
		late = time.After(most)
	}
	select {
	case e = <-ch:
	case <-late:
		t.Fatalf("waited %v until %s", most.Round(time.Second), what)
	}
	return e
}

// patience returns 80 % of the time that is left until the test's deadline, if it has one.
func patience(t T) (d time.Duration, limited bool) {
	deadline, limited := t.Deadline()
	return time.Until(deadline) / 5 * 4, limited
}
