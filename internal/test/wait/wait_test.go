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

// A condition that is true is not waited for.
func TestTrueAtOnce(t *testing.T) {
	wait.For(t, "nothing", func() (any, bool) { return nil, true })
}
