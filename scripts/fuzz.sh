#!/bin/sh
# Runs every fuzz target of the module for the time given (default 5s each). What is
# found is made smaller a few times only: going on for the usual minute, no time
# would be left for looking.
set -eu

go=${GO:-go}
time=${1:-5s}

"$go" list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.Dir}}{{end}}' ./... | while read -r dir; do
	for target in $(cat "$dir"/*_test.go | sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p'); do
		echo "== $target ($dir)"
		(cd "$dir" && "$go" test -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 10x .)
	done
done
