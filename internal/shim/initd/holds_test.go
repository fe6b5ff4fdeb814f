package initd

import (
	"strings"
	"testing"
)

// TestHolds checks that held terminals leave an init room for other clients.
func TestHolds(t *testing.T) {
	k := keeping(t)
	if _, err := k.Hold("no name\n"); err == nil || !strings.Contains(err.Error(), "no valid name") {
		t.Errorf("a client without a name: %v", err)
	}
	for range maxHolds {
		f, err := k.Hold("test-holds")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
	}
	if _, err := k.Hold("test-holds"); err == nil || !strings.Contains(err.Error(), "too many terminals") {
		t.Errorf("one more: %v", err)
	}
	if _, err := k.Hello(t.Context()); err != nil {
		t.Errorf("it answers nobody else: %v", err)
	}
}
