//go:build real

package executable

import (
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
)

// TestWrite runs what it has just written, while others start processes.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Go(func() {
			for i := range 50 {
				path := filepath.Join(dir, strconv.Itoa(n)+"-"+strconv.Itoa(i))
				Write(t, path, []byte("#!/bin/sh\n"), 0o700)
				if err := exec.Command(path).Run(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}
