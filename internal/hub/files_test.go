package hub_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/agentform/agentform/internal/hub"
)

// TestFilesBegin: as soon as a directory is watched the hub is woken, since its files may have
// been written after it looked.
func TestFilesBegin(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	files, woken := &hub.Files{}, 0
	files.Watch(hub.Watched{Files: []string{filepath.Join(t.TempDir(), "exit")}})
	if err := files.Run(ctx, func() { woken++ }); err != nil || woken != 1 {
		t.Errorf("woken %d times, %v", woken, err)
	}
}

func TestFilesWake(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	files, woken, ended := &hub.Files{}, make(chan struct{}, 100), make(chan error, 1)
	one, two := filepath.Join(t.TempDir(), "exit"), filepath.Join(t.TempDir(), "exit")
	files.Watch(hub.Watched{Files: []string{one}})
	go func() { ended <- files.Run(ctx, func() { woken <- struct{}{} }) }()
	<-woken // it is watched
	write := func(path string) {
		if err := os.WriteFile(path, []byte("0"), 0o600); err != nil {
			t.Error(err)
		}
	}
	write(one)
	<-woken
	files.Watch(hub.Watched{Files: []string{two}})
	write(two)
	<-woken
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
