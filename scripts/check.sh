#!/bin/sh
# Runs an area of make check and writes its receipt, dist/check/AREA.json: check.sh AREA COMMAND...
set -u
cd "$(dirname "$0")/.." || exit

area=$1
shift
flags=${MAKEFLAGS:-}
flags=${flags%% *} # the letters of make's options, if there are any
case $flags in
-*) ;;
*n*)
	echo "$*" # make -n runs it all the same, since it may be another make
	exit
	;;
*i*)
	echo "$0: make -i hides failures: leave it out" >&2
	exit 1
	;;
esac
out=dist/check
rm -rf "${out:?}/$area" "$out/$area.json"
mkdir -p "$out/$area"
commit=$(git rev-parse HEAD) || exit
[ -z "$(git status --porcelain)" ] || commit=$commit-dirty
start=$(date +%s)
EVENTS=$PWD/$out/$area "$@"
status=$?
"${GO:-go}" run ./internal/test/receipt "$area" $status $(($(date +%s) - start)) "$commit" || exit
exit $status
