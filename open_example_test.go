//go:build real

package agentform_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/agentform/agentform"
	"github.com/agentform/agentform/session"
)

// A program that runs an agent in tmux, follows it to its end, and stops it. In
// main, shim is what agentform.Init returns.
func ExampleOpen() {
	dir, err := os.MkdirTemp("/tmp", "open") // short: sockets lie below
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	sessions, err := agentform.Open(filepath.Join(dir, "sessions"), agentform.Options{Shim: shim})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer sessions.Close()

	spec := session.Spec{
		Agent:     session.AgentSpec{Name: "greeter", Command: []string{"sh", "-c", "echo hello from $(basename $PWD); sleep 1"}, OneShot: true},
		Workspace: session.Workspace{Path: dir},
	}
	err = sessions.With(context.Background(), "greeter", spec, func(ctx context.Context, s *agentform.Session) error {
		for o, err := range s.Watch(ctx, 50*time.Millisecond) {
			if err != nil {
				return err
			}
			if o.Status.Terminal() {
				fmt.Println(o.Status)
			}
		}
		return nil
	})
	fmt.Println(err)
	// Output:
	// done
	// <nil>
}
