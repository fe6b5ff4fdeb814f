#!/bin/sh
# Runs an area of make check and writes its receipt, dist/check/AREA.json: check.sh AREA COMMAND...
set -u

area=$1
shift
out=dist/check
rm -rf "${out:?}/$area" "$out/$area.json"
mkdir -p "$out/$area"
start=$(date +%s)
EVENTS=$PWD/$out/$area "$@"
status=$?
"${GO:-go}" run ./internal/test/receipt "$area" $status $(($(date +%s) - start)) || exit
exit $status
