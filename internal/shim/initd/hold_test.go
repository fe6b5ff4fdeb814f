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

// TestHold checks that an init ends the processes of a terminal, also stubborn and late ones, once
// the connection that holds it is closed, and not before.
func TestHold(t *testing.T) {
	t.Parallel()
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP) // otherwise the children inherit what nohup ignores
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
	// Use names that no earlier run of the test had: late processes of those are still being ended.
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
	time.Sleep(shim.LineTimeout + 500*time.Millisecond) // long enough for a silent client to be disconnected
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
