package input

import "testing"

// The text typed by a killed command is found on the screen of an agent without files.
func TestTraces(t *testing.T) {
	const prompt = "Fix the rounding error in cart.go.\nRun the tests first."
	for name, c := range map[string]struct {
		screen, text  string
		shown, unsent bool
	}{
		"nothing":          {"ready> ", prompt, false, false},
		"typed":            {"ready> Fix the rounding er\nror in cart.go.\nRun the tests first.  \n\n", prompt, true, true},
		"submitted":        {"ready> Fix the rounding error in cart.go.\nRun the tests first.\nworking …\n", prompt, true, false},
		"half of it":       {"ready> Fix the rounding error in cart.go.", prompt, false, false},
		"a word of it":     {"ready> \nRun the tests first.", prompt, false, false},
		"too short to say": {"ready> go\nok", "go", false, false},
		"a short one":      {"ready> PROMPT-1", "PROMPT-1", true, true},
	} {
		if shown, unsent := Traces(c.screen, c.text); shown != c.shown || unsent != c.unsent {
			t.Errorf("%s: shown %t, unsent %t", name, shown, unsent)
		}
	}
}
