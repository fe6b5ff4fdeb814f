#!/usr/bin/env bash
# Copies the modules of other people, in the versions of package-lock.json, into the page of
# the hub. With --check it compares them instead, and changes nothing.
set -euo pipefail
cd "$(dirname "$0")"
into=../../internal/server/page/vendor
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp package.json package-lock.json "$work"
npm ci --prefix "$work" --no-audit --no-fund --ignore-scripts --silent
from=$work/node_modules
out=$work/vendor
mkdir "$out"
cp "$from/htm/preact/standalone.module.js" "$out/preact.mjs"
cp "$from/@xterm/xterm/lib/xterm.mjs" "$from/@xterm/xterm/css/xterm.css" "$out"
for addon in fit search unicode11 web-links webgl; do
	cp "$from/@xterm/addon-$addon/lib/addon-$addon.mjs" "$out"
done
{
	echo "The licenses of the modules in this directory. preact.mjs is htm with preact in one file."
	for name in htm preact @xterm/xterm @xterm/addon-fit @xterm/addon-search @xterm/addon-unicode11 @xterm/addon-web-links @xterm/addon-webgl; do
		printf '\n---- %s %s ----\n\n' "$name" "$(node -p "require('$from/$name/package.json').version")"
		cat "$from/$name/LICENSE"
	done
} >"$out/LICENSES"
if [ "${1:-}" = --check ]; then
	diff -rq "$out" "$into" || {
		echo "the vendored modules differ from scripts/page/package-lock.json: run scripts/page/vendor.sh" >&2
		exit 1
	}
else
	rm -rf "$into"
	cp -r "$out" "$into"
fi
