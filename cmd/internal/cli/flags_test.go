package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/agentform/agentform/cmd/internal/flags"
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
		if got := strings.Join(flags.JoinNegatives(strings.Fields(typed)), " "); got != want {
			t.Errorf("%s: %s, want %s", typed, got, want)
		}
	}
	if got := flags.JoinNegatives(nil); !slices.Equal(got, nil) {
		t.Error(got)
	}
}

func TestOneDashAsTerraformWrites(t *testing.T) {
	root := newRoot(newApp(Env{}))
	for typed, want := range map[string]string{
		"apply -auto-approve":          "apply --auto-approve",
		"apply -target=api -json":      "apply --target=api --json",
		"-chdir=x plan -var a=b":       "--chdir=x plan --var a=b",
		"plan -fx -f -json":            "plan -fx -f -json",
		"run -a claude -p -wait x":     "run -a claude -p -wait x",
		"run --agent -json":            "run --agent -json",
		"run -agent claude -wait":      "run --agent claude --wait",
		"wait api --for done -timeout": "wait api --for done --timeout",
		"send api -- -json":            "send api -- -json",
		"plan -nothing-like-it":        "plan -nothing-like-it",
	} {
		if got := strings.Join(flags.DoubleDashed(root, strings.Fields(typed)), " "); got != want {
			t.Errorf("%s: %s, want %s", typed, got, want)
		}
	}
}
