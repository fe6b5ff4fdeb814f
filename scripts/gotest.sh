#!/bin/sh
# Runs go test with a file of its events: gotest.sh FLAG... -- PACKAGE...
# A failed test runs again alone, RERUNS times at most (default 2; 0: never), unless more
# than five failed, a test panicked or there was a data race. The events are written to the
# directory EVENTS (default dist/check/tests).
set -u

flags=
while [ $# -gt 0 ] && [ "$1" != -- ]; do
	flags="$flags
$1"
	shift
done
shift
packages=$*
again="--rerun-fails=${RERUNS:-2} --rerun-fails-max-failures=5 --rerun-fails-abort-on-data-race"
[ "${RERUNS:-2}" != 0 ] || again=
events=${EVENTS:-dist/check/tests}
mkdir -p "$events"

IFS='
'
set -f
# shellcheck disable=SC2086 # a flag a line
set -- $flags
IFS=' '
# shellcheck disable=SC2086 # flags of its own
exec "${GO:-go}" tool -modfile=scripts/tools/go.mod gotestsum \
	--format "${FORMAT:-pkgname}" --format-hide-empty-pkg --no-color --hide-summary skipped \
	$again --jsonfile "$events/$$.json" --packages "$packages" -- "$@"
