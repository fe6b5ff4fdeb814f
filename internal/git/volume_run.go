package git

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
)

// errCutOff means that a command's output did not arrive in full.
var errCutOff = errors.New("its output was lost on the way")

// run runs a command line, and fails if some of its output is missing. Kubernetes and Docker may
// lose the end of a command's output without an error:
// github.com/kubernetes/kubernetes/issues/124571, github.com/moby/moby/issues/27289.
func (v Volume) run(ctx context.Context, stdin io.Reader, stdout io.Writer, argv ...string) error {
	out := ended{to: stdout, mark: rand.Text()}
	err := v.Run(ctx, stdin, &out, append([]string{"sh", "-c", `"$@" || exit; printf %s "$0"`, out.mark}, argv...)...)
	switch {
	case err != nil:
		_, _ = stdout.Write(out.held) // what it printed before it failed
		return err
	case string(out.held) != out.mark:
		return errCutOff
	}
	return nil
}

// ended writes to another writer, except the mark at the end.
type ended struct {
	to   io.Writer
	mark string
	held []byte // the last bytes, as many as the mark has
}

func (e *ended) Write(p []byte) (int, error) {
	e.held = append(e.held, p...)
	if n := len(e.held) - len(e.mark); n > 0 {
		if _, err := e.to.Write(e.held[:n]); err != nil {
			return 0, err
		}
		e.held = append(e.held[:0], e.held[n:]...)
	}
	return len(p), nil
}
