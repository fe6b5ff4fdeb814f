package proc

import (
	"syscall"
	"testing"
)

// A process that had no free file descriptor at first reads the boot id later.
func TestBootIDIsReadAgain(t *testing.T) {
	was := BootID()
	if was == "" {
		t.Fatal("the boot has no id")
	}
	bootID.Store(nil)
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 0, Max: limit.Max}); err != nil {
		t.Fatal(err)
	}
	without := BootID()
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if without != "" || BootID() != was {
		t.Errorf("without a file descriptor %q, then %q; want %q", without, BootID(), was)
	}
}
