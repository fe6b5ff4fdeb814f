package hub

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/agentform/agentform/session"
)

// An exit that is read while Watch drops its process closes nothing: the descriptor's
// number can be the state's journal by then.
func TestDropClosesOnlyWhatIsWatched(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "journal"))
	if err != nil {
		t.Fatal(err)
	}
	p := Processes{watched: map[session.Process]int{}}
	p.drop([]unix.EpollEvent{{Fd: int32(f.Fd())}})
	if _, err := f.WriteString("a change"); err != nil {
		t.Errorf("the file was closed: %v", err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}
