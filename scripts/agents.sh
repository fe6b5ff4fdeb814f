#!/bin/sh
# Installs the coding agents that `make test-agents` runs, in the versions of
# internal/agenttest/agents/package.json, into a cache folder, and prints that
# folder. It never touches agents that are installed elsewhere.
set -eu

pins=$(CDPATH='' cd -- "$(dirname -- "$0")/../internal/agenttest/agents" && pwd)
sum=$(cksum <"$pins/package-lock.json" | tr ' ' '-')
cache=${XDG_CACHE_HOME:-$HOME/.cache}/agentform/agents
folder=$cache/$sum

if [ -d "$folder" ]; then
	echo "$folder"
	exit
fi
if ! command -v npm >/dev/null 2>&1 || ! command -v node >/dev/null 2>&1; then
	echo "missing: npm and node, 20 or later, to install the agents with. See https://nodejs.org" >&2
	exit 1
fi
if [ "$(node -p 'process.versions.node.split(".")[0]')" -lt 20 ]; then
	echo "missing: node 20 or later ($(node --version) is here), for Gemini CLI. See https://nodejs.org" >&2
	exit 1
fi
mkdir -p "$cache"
new=$(mktemp -d "$cache/new.XXXXXX")
trap 'rm -rf "$new"' EXIT
cp "$pins/package.json" "$pins/package-lock.json" "$new/"
echo "installing the agents (once; about 600 MB in $folder)" >&2
(
	cd "$new"
	# No install scripts: they would compile what no test needs. Claude Code's puts
	# its own binary into place.
	npm ci --ignore-scripts --no-audit --no-fund --no-update-notifier --loglevel=error >&2
	node node_modules/@anthropic-ai/claude-code/install.cjs >&2
)
chmod 755 "$new"
mv "$new" "$folder"
echo "$folder"
