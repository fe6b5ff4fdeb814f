package hub_test

import (
	"testing"
	"time"
)

// Between two hubs the clock jumps, forth and back, so that what stands in the histories is
// long ago or still to come: nothing that lives is touched, and what dies is started again
// when its wait is over, not when the old clock would have come so far.
func TestClockJumps(t *testing.T) {
	in(t, func(r *room) {
		r.apply(r.spec("api"), r.spec("web"))
		for n, jump := range []time.Duration{0, -2 * time.Hour, 5 * time.Hour, -24 * time.Hour, 24 * time.Hour} {
			r.jump.Store(int64(jump))
			_, stop := r.hub()
			time.Sleep(time.Minute)
			if api, web := r.launches("api"), r.launches("web"); api != n+1 || web != 1 {
				t.Errorf("after a jump of %s: started %d and %d times, want %d and 1", jump, api, web, n+1)
			}
			r.rt.Kill(place("api"))
			time.Sleep(2 * time.Minute) // the fourth wait is 40 s
			if r.launches("api") != n+2 || !r.alive("api") {
				t.Errorf("after a jump of %s what died was not started again: %q", jump, r.events("api"))
			}
			stop()
		}
	})
}
