package proc

import (
	"os"
	"testing"
)

func TestFindIsNotOfItself(t *testing.T) {
	for p := range Find(func([]byte) bool { return true }) {
		if p.PID == os.Getpid() {
			t.Error("it has found itself")
		}
	}
}
