package project

import "testing"

func TestAgentsFor(t *testing.T) {
	const gib = 1 << 30
	for _, tt := range []struct {
		cores  int
		memory uint64
		want   int
	}{
		{2, 24 * gib, 8},  // limited by cores
		{16, 4 * gib, 10}, // limited by memory
		{4, 0, 16},        // unknown memory is no limit
		{1, 100 << 20, 1}, // at least one
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
