package cli

import (
	"slices"
	"strings"
	"testing"
)

func TestNegativeNumbersAreValues(t *testing.T) {
	for typed, want := range map[string]string{
		"--parallelism -3 plan":        "--parallelism=-3 plan",
		"plan --parallelism -3":        "plan --parallelism=-3",
		"--parallelism=2 -3 plan":      "--parallelism=2 -3 plan",
		"-f -x plan":                   "-f -x plan",
		"--chdir -x":                   "--chdir -x",
		"-3":                           "-3",
		"run -a claude -- --limit -3":  "run -a claude -- --limit -3",
		"send api --no-enter -- -- -1": "send api --no-enter -- -- -1",
	} {
		if got := strings.Join(joined(strings.Fields(typed)), " "); got != want {
			t.Errorf("%s: %s, want %s", typed, got, want)
		}
	}
	if got := joined(nil); !slices.Equal(got, nil) {
		t.Error(got)
	}
}
