package tmuxwire

import "testing"

func TestTrim(t *testing.T) {
	for screen, want := range map[string]string{
		"a  \n\tb\t\n\n \n": "a\n\tb",
		"":                  "",
		"bye\n\n\nPane is dead (status 0, Sat Nov 21 06:59:05 2026)\n":  "bye",
		"bye\nPane is dead (signal kill, Sat Nov 21 06:59:05 2026)  \n": "bye",
		"Pane is dead (status 0)":                                       "",
		"Pane is dead (I think)\n>":                                     "Pane is dead (I think)\n>",
	} {
		if got := Trim(screen); got != want {
			t.Errorf("%q becomes %q, want %q", screen, got, want)
		}
	}
}
