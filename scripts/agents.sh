#!/bin/sh
# Installs the coding agents that `make check-agents` runs, in the versions of
# internal/test/agenttest/agents/package.json, into a cache folder, and prints that
# folder. It never touches agents that are installed elsewhere.
set -eu

newer=22.23.3 # of Node, where the one that is here is too old
pins=$(CDPATH='' cd -- "$(dirname -- "$0")/../internal/test/agenttest/agents" && pwd)
sum=$(cksum <"$pins/package-lock.json" | tr ' ' '-')
cache=${XDG_CACHE_HOME:-$HOME/.cache}/agentform/agents
folder=$cache/$sum

if [ -d "$folder" ]; then
	echo "$folder"
	exit
fi
if ! command -v npm >/dev/null 2>&1 || ! command -v node >/dev/null 2>&1; then
	echo "missing: npm and node, to install the agents with. Get them with your system's package manager, or from https://nodejs.org" >&2
	exit 1
fi
mkdir -p "$cache"
new=$(mktemp -d "$cache/new.XXXXXX")
trap 'rm -rf "$new"' EXIT
cp "$pins/package.json" "$pins/package-lock.json" "$new/"
echo "installing the agents (once; about 1.1 GB in $folder)" >&2
(
	cd "$new"
	# No install scripts: they would compile what no test needs. Claude Code's puts
	# its own binary into place.
	npm ci --ignore-scripts --no-audit --no-fund --no-update-notifier --loglevel=error >&2
	node node_modules/@anthropic-ai/claude-code/install.cjs >&2
	# Gemini CLI needs Node 20, and distributions may have an older one: then a newer
	# one is put beside the agents, where they look first.
	if [ "$(node -p 'process.versions.node.split(".")[0]')" -lt 20 ]; then
		npm install --no-save --ignore-scripts --no-audit --no-fund --no-update-notifier --loglevel=error \
			"node-$(node -p 'process.platform + "-" + process.arch')@$newer" >&2
	fi
)
chmod 755 "$new"
mv "$new" "$folder"
rm -rf "$folder/${new##*/}" # it is in there if another installation was first
echo "$folder"
