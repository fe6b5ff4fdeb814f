// Package seed gives property tests the same numbers in each run. A test package that uses
// rapid imports it for its side effect. RAPID_SEED=0 draws other numbers in each run, and
// RAPID_SEED or -rapid.seed repeats those of another seed.
package seed

import (
	"flag"
	"os"

	_ "pgregory.net/rapid" // defines the flag
)

func init() {
	if os.Getenv("RAPID_SEED") == "" {
		if err := flag.Set("rapid.seed", "1"); err != nil {
			panic(err)
		}
	}
}
