#!/bin/sh
# Runs the short suite on the real thing, one test after the other: tmux's conformance
# suite, and scripts with git, tmux and one Docker engine. A failed test runs again
# alone, twice at most, and is reported as flaky if it passes then.
# Usage: scripts/dockerd.sh scripts/smoke.sh FLAG..., with the flags of go test.
set -u

limit=900 # seconds; only the required tests must have run by then
required="TestConformance $(printf 'TestScripts/%s ' quickstart killed branch_mismatch drift two_applies serve_killed destroy_keeps) \
	$(printf 'TestContainerScripts/%s ' three stale finished silent)"
optional="$(printf 'TestScripts/%s ' conversation locked send answer land land_killed run) TestContainerScripts/workspace"

start=$(date +%s) status=0
# run NAMES FLAG...: runs tests, as long as there is time.
run() {
	pattern=$(printf '%s' "$1" | sed -E 's#([A-Za-z_]+)/([a-z_]+)#\1/^\2$#g; s#[[:space:]]+#|#g; s#[|]$##')
	shift
	left=$((limit + start - $(date +%s)))
	[ $left -gt 0 ] || return 0
	FORMAT=testname timeout -s INT -k 10 $left scripts/gotest.sh "$@" -vet off -count 1 -p 1 -parallel 1 \
		-timeout ${limit}s -run "$pattern" -- ./tmux ./cmd/internal/cli
	case $? in
	0) ;;
	124 | 137) # what is running is no failure by itself
		echo "the time is up: $limit s" >&2
		: >"$EVENTS/CUT"
		;;
	*) status=1 ;;
	esac
}
run "$required" "$@"
run "$optional" "$@"

# saw RESULT NAME: the test ended so, in one of its runs.
saw() { grep -q "\"Action\":\"$1\".*\"Test\":\"$2\"" "$EVENTS"/*.json; }
for name in $required; do
	saw pass "$name" || { echo "did not pass: $name" >&2 && status=1; }
done
for name in $optional; do
	saw pass "$name" && continue
	if saw fail "$name"; then
		echo "did not pass: $name" >&2
		status=1
	else
		echo "did not run: $name, which is optional" >&2
	fi
done
exit $status
