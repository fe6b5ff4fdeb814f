package wait_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentform/agentform/internal/test/wait"
)

// fake is a test that is killed at a time, unless that is zero.
type fake struct {
	at     time.Time
	failed string
}

func (f *fake) Helper() {}

func (f *fake) Deadline() (time.Time, bool) { return f.at, !f.at.IsZero() }

func (f *fake) Fatalf(format string, args ...any) { f.failed = fmt.Sprintf(format, args...) }

func TestFor(t *testing.T) {
	for name, test := range map[string]struct {
		limit, true time.Duration // after so long; zero: never
		want        time.Duration // how long it waits, to the pause between two looks
		fails       bool
	}{
		"true":             {time.Minute, 10 * time.Second, 10 * time.Second, false},
		"just in time":     {time.Minute, 48 * time.Second, 48 * time.Second, false},
		"too late":         {time.Minute, 50 * time.Second, 48 * time.Second, true},
		"past deadline":    {-time.Second, time.Hour, 0, true},
		"without deadline": {0, time.Hour, time.Hour, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start, f, looks := time.Now(), &fake{}, 0
				if test.limit != 0 {
					f.at = start.Add(test.limit)
				}
				wait.For(f, "it is true", func() (any, bool) {
					looks++
					return looks, time.Since(start) >= test.true
				})
				if took := time.Since(start); took < test.want || took > test.want+time.Second {
					t.Errorf("it took %v, want %v", took, test.want)
				}
				want := fmt.Sprintf("until it is true; last:\n%d", looks)
				if (f.failed != "") != test.fails || test.fails && !strings.Contains(f.failed, want) {
					t.Errorf("failed with %q, want %q: %v", f.failed, want, test.fails)
				}
			})
		})
	}
}

// What was seen may cost something to say.
func TestSayLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, said := &fake{at: time.Now().Add(time.Minute)}, 0
		wait.For(f, "never", func() (any, bool) { return func() string { said++; return "a door" }, false })
		if said != 1 || !strings.HasSuffix(f.failed, "last:\na door") {
			t.Errorf("said %d times: %q", said, f.failed)
		}
	})
}

func TestReceive(t *testing.T) {
	for name, test := range map[string]struct {
		limit, sent time.Duration // after so long; zero: never
		closed      bool          // instead
		want        int
		fails       bool
	}{
		"sent":             {time.Minute, 40 * time.Second, false, 7, false},
		"closed":           {time.Minute, 40 * time.Second, true, 0, false},
		"too late":         {time.Minute, 50 * time.Second, false, 0, true},
		"past deadline":    {-time.Second, time.Hour, false, 0, true},
		"without deadline": {0, time.Hour, false, 7, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start, f, ch := time.Now(), &fake{}, make(chan int, 1)
				if test.limit != 0 {
					f.at = start.Add(test.limit)
				}
				time.AfterFunc(test.sent, func() {
					if !test.closed {
						ch <- 7
					}
					close(ch)
				})
				got := wait.Receive(f, "it comes", ch)
				want := test.sent
				if test.fails {
					want = max(0, test.limit/5*4)
				}
				if took := time.Since(start); got != test.want || took != want {
					t.Errorf("%d after %v, want %d after %v", got, took, test.want, want)
				}
				if (f.failed != "") != test.fails || test.fails && !strings.HasSuffix(f.failed, "until it comes") {
					t.Errorf("failed with %q: %v", f.failed, test.fails)
				}
			})
		})
	}
}

// A condition that is true is not waited for.
func TestTrueAtOnce(t *testing.T) {
	wait.For(t, "nothing", func() (any, bool) { return nil, true })
}
