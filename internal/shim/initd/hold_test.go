//go:build real

package initd

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/internal/test/wait"
)

// TestHold shows that an init ends the processes of a terminal once the connection of who
// holds it is closed, and not before, also those that are stubborn or started late.
func TestHold(t *testing.T) {
	t.Parallel()
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP) // else what nohup ignores is ignored below, too
	k := keeping(t)
	begin := func(client, script string) <-chan error {
		c := exec.Command("sh", "-c", script)
		c.Env = append(os.Environ(), shim.ClientVariable+"="+client)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Process.Kill() })
		ended := make(chan error, 1)
		go func() { ended <- c.Wait() }()
		return ended
	}
	killedBy := func(what string, ended <-chan error, want syscall.Signal) {
		t.Helper()
		err := wait.Receive(t, what+" has ended", ended)
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok || exit.Sys().(syscall.WaitStatus).Signal() != want {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
	}
	// Names that an earlier run of the test did not have: what is late of those is ended still.
	one := fmt.Sprintf("test-hold-%d", time.Now().UnixNano())
	two := one + "-other"
	held, err := k.Hold(one)
	if err != nil {
		t.Fatal(err)
	}
	other, err := k.Hold(two)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	simple, others := begin(one, "exec sleep 1000"), begin(two, "exec sleep 1000")
	stubborn := begin(one, "trap '' HUP; while :; do sleep 0.1; done")
	time.Sleep(shim.LineTimeout + 500*time.Millisecond) // a silent client would have been hung up on
	select {
	case err := <-simple:
		t.Fatalf("it ended while its terminal was held: %v", err)
	default:
	}
	held.Close()
	killedBy("a process", simple, syscall.SIGHUP)
	killedBy("a late one", begin(one, "exec sleep 1000"), syscall.SIGHUP)
	killedBy("a stubborn one", stubborn, syscall.SIGKILL)
	select {
	case err := <-others:
		t.Errorf("the process of another terminal ended: %v", err)
	default:
	}
}
