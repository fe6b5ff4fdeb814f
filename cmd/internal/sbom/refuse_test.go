package main

import (
	"strings"
	"testing"
)

func TestRefuses(t *testing.T) {
	if err := run(nil, nil); err == nil || !strings.Contains(err.Error(), "usage") {
		t.Errorf("of no program: %v", err)
	}
	if err := run(nil, []string{"doc.go"}); err == nil || !strings.Contains(err.Error(), "doc.go") {
		t.Errorf("of what is none: %v", err)
	}
}
