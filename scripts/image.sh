#!/bin/sh
# Writes a container image with agentform and the agentform-shims alone, as docker save writes
# one: image.sh FILE NAME FOLDER [ARCHITECTURE], with the programs in a folder. The same
# programs and SOURCE_DATE_EPOCH give the same bytes.
set -eu

file=$1 name=$2 folder=$3 architecture=${4:-$(go env GOARCH)}
: "${SOURCE_DATE_EPOCH:=0}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

archive() {
	tar --format=ustar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner="$1" --group="$1" --numeric-owner \
		-C "$work/$2" -cf - .
}

# /data is the home of the user, who is not root.
mkdir -p "$work/programs/usr/local/bin" "$work/data/data" "$work/data/tmp" "$work/image"
install -m 755 "$folder/agentform" "$folder"/agentform-shim* "$work/programs/usr/local/bin/"
chmod 755 "$work/programs" "$work/programs/usr" "$work/programs/usr/local" "$work/programs/usr/local/bin" "$work/data" "$work/image"
chmod 700 "$work/data/data"
chmod 1777 "$work/data/tmp"
archive 0 programs >"$work/image/programs.tar"
archive 65532 data >"$work/image/data.tar"

digest() { sha256sum "$work/image/$1" | cut -d ' ' -f 1; }
created=$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)
cat >"$work/image/config.json" <<END
{"architecture": "$architecture", "os": "linux", "created": "$created",
 "config": {"User": "65532:65532", "WorkingDir": "/data", "Entrypoint": ["/usr/local/bin/agentform"],
  "Env": ["PATH=/usr/local/bin", "HOME=/data"]},
 "rootfs": {"type": "layers", "diff_ids": ["sha256:$(digest programs.tar)", "sha256:$(digest data.tar)"]}}
END
echo "[{\"Config\": \"config.json\", \"RepoTags\": [\"$name\"], \"Layers\": [\"programs.tar\", \"data.tar\"]}]" >"$work/image/manifest.json"
chmod 644 "$work/image"/*
archive 0 image >"$file"
