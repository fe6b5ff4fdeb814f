package seed_test

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/agentform/agentform/internal/test/seed"
)

// TestNumbers prints the numbers that a property test draws if TestSeed runs it.
func TestNumbers(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.Uint64().Draw(rt, "n")
		if os.Getenv("SEED_TEST_PRINT") != "" {
			fmt.Println(n)
		}
	})
}

func TestSeed(t *testing.T) {
	numbers := func(args []string, environ ...string) string {
		t.Helper()
		c := exec.Command(os.Args[0], append(args, "-test.run=^TestNumbers$")...)
		c.Env = append(append(os.Environ(), "SEED_TEST_PRINT=1"), environ...)
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	seven := []string{"-rapid.seed=7"}
	first, other := numbers([]string{"-rapid.seed=1"}), numbers(seven)
	if first == other {
		t.Errorf("two seeds draw the same numbers: %s", first)
	}
	if os.Getenv("RAPID_SEED") == "" && numbers(nil) != first {
		t.Error("the numbers are not those of seed 1")
	}
	if numbers(nil, "RAPID_SEED=7") != other || numbers(seven, "RAPID_SEED=1") != other {
		t.Error("the seed that the variable or the flag names is not used")
	}
	if zero := numbers(nil, "RAPID_SEED=0"); zero == first || zero == numbers(nil, "RAPID_SEED=0") {
		t.Error("RAPID_SEED=0 does not draw other numbers in each run")
	}
}
