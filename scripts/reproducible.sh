#!/bin/sh
# Builds one release archive twice, in folders and at times of their own, and with
# build caches of their own if COLD is set, and fails if they differ.
set -eu

work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
platform=${1:-linux/amd64}
commit=$(git rev-parse HEAD)

for i in 1 2; do
	TMPDIR=$work/$i/$(printf "%0${i}0d" 0)
	mkdir -p "$TMPDIR"
	export TMPDIR
	[ -z "${COLD:-}" ] || export GOCACHE="$work/cache$i"
	(umask "00$((i * 2 + 3))" && scripts/release.sh "$work/out$i" "$commit" "$platform" >/dev/null)
	mkdir "$work/image$i"
	tar -xzf "$work/out$i"/*.tar.gz -C "$work/image$i" --strip-components 1
	SOURCE_DATE_EPOCH=$(git log -1 --format=%ct) scripts/image.sh "$work/image$i.tar" agentform:test "$work/image$i"
	sleep 1 # so that a time that goes in is another
done
cmp "$work"/out1/*.txt "$work"/out2/*.txt
cmp "$work/image1.tar" "$work/image2.tar"
cat "$work"/out1/*.txt
