package streams

import (
	"sync/atomic"
	"testing"
)

func TestInParallel(t *testing.T) {
	drain := make(chan struct{})
	var now, most atomic.Int32
	if n := InParallel(20, 3, drain, func(int) {
		most.Store(max(most.Load(), now.Add(1)))
		now.Add(-1)
	}); n != 20 || most.Load() > 3 {
		t.Errorf("%d begun, %d at once", n, most.Load())
	}
	did := 0
	if n := InParallel(20, 1, drain, func(i int) {
		if did++; i == 4 {
			close(drain)
		}
	}); n != 5 || did != 5 {
		t.Errorf("%d begun, %d done after a drain at the fifth", n, did)
	}
}
