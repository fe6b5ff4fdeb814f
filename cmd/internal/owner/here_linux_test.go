package owner

import "testing"

// A machine's first pid namespace has no number: otherwise the host would look like a restarted
// container, and its processes like ended ones.
func TestNamespaceNumber(t *testing.T) {
	for name, want := range map[string]string{"pid:[4026531836]": "", "pid:[4026532251]": "4026532251"} {
		if got := namespaceNumber(name); got != want {
			t.Errorf("namespaceNumber(%q) = %q, want %q", name, got, want)
		}
	}
}
