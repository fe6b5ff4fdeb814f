package project

import "testing"

func TestAgentsFor(t *testing.T) {
	const gib = 1 << 30
	for _, tt := range []struct {
		cores  int
		memory uint64
		want   int
	}{
		{2, 24 * gib, 8},  // the cores bind
		{16, 4 * gib, 10}, // the memory binds
		{4, 0, 16},        // unknown memory binds nothing
		{1, 100 << 20, 1}, // never none
		{64, 256 * gib, 256},
	} {
		if got := agentsFor(tt.cores, tt.memory); got != tt.want {
			t.Errorf("agentsFor(%d, %d MiB) = %d, want %d", tt.cores, tt.memory>>20, got, tt.want)
		}
	}
	if memory() == 0 {
		t.Error("this machine's memory is not known")
	}
}
