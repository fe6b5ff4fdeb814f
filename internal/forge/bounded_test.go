package forge

import (
	"io"
	"strings"
	"testing"
)

// TestBounded checks that an answer is bounded, also as os/exec copies it.
func TestBounded(t *testing.T) {
	var b bounded
	n, err := io.Copy(&b, io.LimitReader(endless{}, 10*maxAnswer))
	if err == nil || !b.full || n > maxAnswer || b.text.Len() > maxAnswer {
		t.Errorf("%d bytes were copied and %d are kept: %v", n, b.text.Len(), err)
	}
	var short bounded
	if _, err := io.Copy(&short, strings.NewReader("{}")); err != nil || short.full || short.text.String() != "{}" {
		t.Errorf("%q, %v", short.text.String(), err)
	}
}

// endless is a reader that never ends.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }
