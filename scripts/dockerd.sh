#!/bin/sh
# Runs a command with a Docker engine: `scripts/dockerd.sh go test -tags real ./docker`.
# It is the one of DOCKER_HOST if that is set. Else root starts one for as long as the
# command runs, with a socket and data of its own; anybody else needs one that answers.
set -eu

if [ -n "${DOCKER_HOST:-}" ]; then
	exec "$@"
fi
for program in docker $([ "$(id -u)" != 0 ] || echo dockerd); do
	if ! command -v "$program" >/dev/null 2>&1; then
		echo "missing: $program. The tests of containers need a Docker engine: apt-get install docker.io" >&2
		exit 1
	fi
done
answers() { docker version >/dev/null 2>&1; }
if [ "$(id -u)" != 0 ]; then
	if answers; then
		exec "$@"
	fi
	echo "no Docker engine answers (docker version says why). Start it: sudo systemctl start docker" >&2
	echo "or, where it runs and is not yours to use: sudo usermod -aG docker $(id -un), and log in again" >&2
	exit 1
fi

dir=$(mktemp -d /tmp/agentform-dockerd.XXXXXX) # a socket's path may have 107 bytes
export DOCKER_HOST="unix://$dir/s"
# No rules of the firewall: where this has to start an engine is often a container.
dockerd --iptables=false --host "$DOCKER_HOST" --data-root "$dir/data" --exec-root "$dir/exec" \
	--pidfile "$dir/pid" >"$dir/log" 2>&1 &
engine=$!
finish() {
	kill "$engine" 2>/dev/null || true
	wait "$engine" 2>/dev/null || true
	# One mount of a network is left by the containers with the network host.
	umount "$dir"/exec/netns/* 2>/dev/null || true
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
