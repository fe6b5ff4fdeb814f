#!/bin/sh
# Runs a test many times beside busy processes: stress.sh PACKAGE PATTERN COUNT FLAG...
# It is built once. The logs of failed runs are kept in dist/stress.
set -u

package=$1 pattern=$2 count=$3
shift 3
out=$PWD/dist/stress
rm -rf "$out"
mkdir -p "$out"
"${GO:-go}" test "$@" -c -o "$out/tests" "$package" || exit
cd "$package" || exit
failed=0 slowest=0 n=0
while [ $n -lt "$count" ]; do
	n=$((n + 1))
	start=$(date +%s)
	if LOAD=$LOAD "$OLDPWD/scripts/busy.sh" "$out/tests" -test.run "$pattern" -test.count 1 >"$out/$n.log" 2>&1; then
		rm "$out/$n.log"
	else
		failed=$((failed + 1))
		echo "run $n failed: dist/stress/$n.log"
	fi
	took=$(($(date +%s) - start))
	[ $took -le $slowest ] || slowest=$took
done
rm "$out/tests"
echo "$count runs, $failed failed, the slowest took $slowest s"
[ $failed = 0 ]
