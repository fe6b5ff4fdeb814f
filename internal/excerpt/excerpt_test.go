package excerpt_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/agentform/agentform/internal/excerpt"
)

// TestHead checks what is kept, also as os/exec copies it.
func TestHead(t *testing.T) {
	full := errors.New("full")
	for text, want := range map[string]string{"": "", "abc": "abc", "abcd": "abcd", "abcde": "abcd", "abcdefghi": "abcd"} {
		for _, fails := range []error{nil, full} {
			h := excerpt.Head{Limit: 4, Full: fails}
			_, err := io.Copy(&h, io.MultiReader(strings.NewReader(text[:len(text)/2]), strings.NewReader(text[len(text)/2:])))
			over := len(text) > 4
			if h.String() != want || string(h.Bytes()) != want || h.Over() != over || errors.Is(err, full) != (over && fails != nil) {
				t.Errorf("%q: %q, over %v, %v", text, h.String(), h.Over(), err)
			}
		}
	}
}

func TestTail(t *testing.T) {
	tail := excerpt.Tail{Limit: 3} // the end of a character is none
	for _, part := range []string{"ab", "cdé", "fg"} {
		if n, err := tail.Write([]byte(part)); n != len(part) || err != nil {
			t.Errorf("%d, %v", n, err)
		}
	}
	if got := tail.String(); got != "fg" {
		t.Errorf("kept %q", got)
	}
}
