package attach

import (
	"bytes"
	"os/exec"
	"testing"
)

// TestLeave checks that the terminal is left as it was if the client did not do that itself.
func TestLeave(t *testing.T) {
	for _, c := range []struct {
		away   bool
		status string
		want   string
	}{{true, "0", "screen"}, {true, "137", "screen" + leave}, {true, "125", "screen"}, {false, "137", "screen"}} {
		var shown bytes.Buffer
		x := &Command{Cmd: exec.Command("sh", "-c", "printf screen; exit "+c.status), away: c.away}
		x.Stdout = &shown
		if err := x.Attach(); (err == nil) != (c.status == "0") || shown.String() != c.want {
			t.Errorf("%+v: %q, %v", c, shown.String(), err)
		}
	}
}
