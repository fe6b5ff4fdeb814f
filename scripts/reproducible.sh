#!/bin/sh
# Builds release archives twice, in folders and at times of their own, and with build caches
# of their own if COLD is set, and fails if they differ, or lack a shim: reproducible.sh
# [PLATFORM...], by default of Linux and of macOS.
set -eu

work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
platforms=${*:-linux/amd64 darwin/arm64}
commit=$(git rev-parse HEAD)

# is FILE ARCHITECTURE fails unless a file is a program for Linux on that.
is() {
	case $2 in amd64) machine="3e 00" ;; arm64) machine="b7 00" ;; esac
	found=$(od -An -tx1 -N4 "$1")$(od -An -tx1 -j18 -N2 "$1") # the format, e_machine
	[ "$found" = " 7f 45 4c 46 $machine" ] && [ -x "$1" ] && return
	echo "$1 is no program for linux/$2:$found" >&2
	exit 1
}

# shims FOLDER PLATFORM fails unless the shims for Linux are there.
shims() {
	for arch in amd64 arm64; do
		if [ "$2" = "linux/$arch" ]; then
			is "$1/agentform-shim" "$arch"
		else
			is "$1/agentform-shim-linux-$arch" "$arch"
		fi
	done
}

for i in 1 2; do
	TMPDIR=$work/$i/$(printf "%0${i}0d" 0)
	mkdir -p "$TMPDIR"
	export TMPDIR
	[ -z "${COLD:-}" ] || export GOCACHE="$work/cache$i"
	# shellcheck disable=SC2086 # they are words
	(umask "00$((i * 2 + 3))" && scripts/release.sh "$work/out$i" "$commit" $platforms >/dev/null)
	for platform in $platforms; do
		folder=$work/$i/$platform
		mkdir -p "$folder"
		tar -xzf "$work/out$i"/*"_$(echo "$platform" | tr / _).tar.gz" -C "$folder" --strip-components 1
		shims "$folder" "$platform"
		case $platform in linux/*)
			image=$work/image$i-${platform#*/}
			SOURCE_DATE_EPOCH=$(git log -1 --format=%ct) scripts/image.sh "$image.tar" agentform:test "$folder" "${platform#*/}"
			mkdir "$image"
			tar -xf "$image.tar" -C "$image"
			tar -xf "$image/programs.tar" -C "$image"
			shims "$image/usr/local/bin" "$platform"
			;;
		esac
	done
	sleep 1 # so that a time that goes in is another
done
cmp "$work"/out1/*.txt "$work"/out2/*.txt
for image in "$work"/image1-*.tar; do
	[ ! -e "$image" ] || cmp "$image" "$work/image2-${image##*-}"
done
cat "$work"/out1/*.txt
