package input

import "testing"

func TestPrintable(t *testing.T) {
	if got, want := Printable("a\r\nb\rc\td\x1b[201~\x03é\u009b\x7f"), "a\nb\nc\td[201~é"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestIsKey(t *testing.T) {
	for key, ok := range map[string]bool{
		"Enter": true, "Escape": true, "C-c": true, "C-M-x": true, "Up": true, "F12": true, "y": true, "BSpace": true,
		"": false, "Foo": false, "exit 1": false, "F13": false, "C-": false, "Enter\n": false,
	} {
		if got := IsKey(key); got != ok {
			t.Errorf("%q: %v, want %v", key, got, ok)
		}
	}
}
