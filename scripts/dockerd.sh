#!/bin/sh
# Runs a command where a Docker engine answers: `scripts/dockerd.sh go test -tags real ./docker`.
# The engine that answers already is left as it is. Where none does, root starts one
# for as long as the command runs; anybody else is told what is missing.
set -eu

answers() { docker version >/dev/null 2>&1; }

if answers; then
	exec "$@"
fi
for program in docker dockerd; do
	if ! command -v $program >/dev/null 2>&1; then
		echo "missing: $program. The tests of containers need a Docker engine: apt-get install docker.io" >&2
		exit 1
	fi
done
if [ "$(id -u)" != 0 ]; then
	echo "no Docker engine answers (docker version says why). Start it: sudo systemctl start docker" >&2
	echo "or, where it runs and is not yours to use: sudo usermod -aG docker $(id -un), and log in again" >&2
	exit 1
fi

dir=$(mktemp -d "${TMPDIR:-/tmp}/agentform-dockerd.XXXXXX")
# No rules of the firewall: where this has to start an engine is often a container.
dockerd --iptables=false --pidfile "$dir/pid" >"$dir/log" 2>&1 &
engine=$!
finish() {
	kill "$engine" 2>/dev/null || true
	wait "$engine" 2>/dev/null || true
	rm -rf "$dir"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
tries=0
until answers; do
	tries=$((tries + 1))
	if [ $tries -gt 300 ] || ! kill -0 "$engine" 2>/dev/null; then
		echo "dockerd did not come up:" >&2
		tail -n 20 "$dir/log" >&2
		exit 1
	fi
	sleep 0.1
done
"$@"
