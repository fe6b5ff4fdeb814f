#!/bin/sh
# Runs a command beside LOAD busy processes (default 20): busy.sh COMMAND...
set -u

pids=
finish() {
	# shellcheck disable=SC2086 # a word each
	kill $pids 2>/dev/null
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
n=0
while [ $n -lt "${LOAD:-20}" ]; do
	(while :; do :; done) &
	pids="$pids $!"
	n=$((n + 1))
done
"$@"
