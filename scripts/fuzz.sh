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
		if out=$(cd "$dir" && "$go" test -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 10x . 2>&1); then
			echo "$out" | tail -n 3
			continue
		fi
		# Go calls it a failure when the time ends while it stops its workers
		# (go.dev/issue/75804, mended in 1.27); one that it has found it writes down, and says so.
		echo "$out"
		case $out in
		*"Failing input"* | *panic:*) exit 1 ;;
		*"context deadline exceeded"*) ;;
		*) exit 1 ;;
		esac
	done
done
