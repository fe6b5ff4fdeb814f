//go:build real

package tmux_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/agentform/agentform/tmux"
)

func ExampleServer() {
	dir, err := os.MkdirTemp("/tmp", "tmux")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	s := tmux.Server{Socket: filepath.Join(dir, "socket")}

	pane, err := s.New(ctx, "cat", dir, "cat", "-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Kill(ctx, "cat")
	if err := s.SendKeys(ctx, pane, "hello", "Enter"); err != nil {
		fmt.Println(err)
	}
	shown := ""
	for err == nil && strings.Count(shown, "hello") < 2 {
		shown, err = s.Capture(ctx, "cat", 10)
	}
	if err != nil {
		fmt.Println(err)
	}
	fmt.Println(shown)
	there, err := s.Has(ctx, "dog")
	fmt.Println(there, err)
	// Output:
	// hello
	// hello
	// false <nil>
}

func ExampleAvailable() {
	if err := tmux.Available(); errors.Is(err, tmux.ErrNotAvailable) {
		fmt.Println(err)
		return
	}
	fmt.Println("there is a tmux")
	// Output: there is a tmux
}
