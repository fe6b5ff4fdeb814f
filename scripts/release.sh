#!/bin/sh
# Builds the release archives of one commit into a folder: release.sh FOLDER [COMMIT]
# [PLATFORM...], by default of HEAD for each platform. One commit and one Go give the
# same bytes, wherever and whenever this runs: the sources are a clone of their own,
# no path and no time of now goes in, and nothing of the caller's Go settings.
set -eu

out=$1
commit=$(git rev-parse --verify "${2:-HEAD}^{commit}")
[ $# -lt 2 ] && shift 1 || shift 2
platforms=${*:-linux/amd64 linux/arm64 darwin/amd64 darwin/arm64}
go=${GO:-go}

tar --version 2>/dev/null | grep -q 'GNU tar' || {
	echo "release: GNU tar is needed, for archives that are the same each time" >&2
	exit 1
}
mkdir -p "$out"
out=$(cd "$out" && pwd)
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT

git clone --quiet --no-checkout "$(git rev-parse --show-toplevel)" "$work/src"
git -C "$work/src" checkout --quiet --detach "$commit"
version=$(git describe --tags --always "$commit")
SOURCE_DATE_EPOCH=$(git show -s --format=%ct "$commit")
export SOURCE_DATE_EPOCH CGO_ENABLED=0 GOFLAGS= GOAMD64=v1 GOARM64=v8.0 GOEXPERIMENT= GOWORK=off TZ=UTC LC_ALL=C

cd "$work/src"
# build PLATFORM TO PROGRAM...
build() {
	GOOS=${1%/*} GOARCH=${1#*/} "$go" build -trimpath -buildvcs=true -tags grpcnotrace \
		-ldflags "-s -w -X main.version=$version" -o "$2" "$3" ${4:+"$4"}
}
# Each archive has the shims of containers and pods, wherever those run.
shims="linux/amd64 linux/arm64"
for platform in $shims; do
	build "$platform" "$work/agentform-shim-linux-${platform#*/}" ./cmd/agentform-shim
done
"$go" run ./cmd/internal/manual man "$work/man"
for platform in $platforms; do
	name=agentform_${version}_$(echo "$platform" | tr / _)
	folder=$work/$name
	mkdir -p "$folder/man"
	build "$platform" "$folder/" ./cmd/agentform ./cmd/agentform-shim
	for other in $shims; do
		[ "$other" = "$platform" ] || cp "$work/agentform-shim-linux-${other#*/}" "$folder/"
	done
	"$go" run ./cmd/internal/sbom "$folder"/agentform* >"$folder/sbom.cdx.json"
	cp README.md CHANGELOG.md LICENSE "$folder/"
	cp "$work"/man/* "$folder/man/"
	find "$folder" -type d -exec chmod 755 {} +
	find "$folder" -type f -exec chmod 644 {} +
	chmod 755 "$folder"/agentform*
	tar --format=ustar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner \
		-C "$work" -cf - "$name" | gzip -n -9 >"$out/$name.tar.gz"
	echo "$out/$name.tar.gz"
done
(cd "$out" && sha256sum "agentform_${version}_"*.tar.gz >"agentform_${version}_checksums.txt")
echo "$out/agentform_${version}_checksums.txt"
