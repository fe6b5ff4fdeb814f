#!/bin/sh
# Builds process-compose into bin/, for `make bench` to compare with. Its go.mod
# replaces modules, which `go install` refuses, so it is built in a copy.
set -eu

version=v1.64.1
cd "$(dirname "$0")/.."
[ ! -x bin/process-compose ] || exit 0

export GOFLAGS=-mod=mod
source=$(${GO:-go} mod download -json github.com/f1bonacc1/process-compose@$version | sed -n 's/^\t"Dir": "\(.*\)",\{0,1\}$/\1/p')
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp -R "$source/." "$copy"
chmod -R u+w "$copy"
mkdir -p bin
out=$PWD/bin/process-compose
cd "$copy"
${GO:-go} build -o "$out" ./src
