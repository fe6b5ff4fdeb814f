#!/bin/sh
# Sees to it that what agentform and its tests stand on is here: Go, git, tmux and
# curl, and what is named besides: `scripts/tools.sh dockerd` for the tests of containers. With apt
# and the right to use it the missing ones are installed; elsewhere this says
# what is missing and how to get it.
set -eu

go=${GO:-go}
want_go=1.26

tools="git tmux curl $*"
# The package that a tool comes in.
package() {
	case $1 in
	dockerd) echo docker.io ;;
	docker) echo docker-cli ;; # where docker.io has the engine alone
	etcd) echo etcd-server ;;
	ip) echo iproute2 ;;
	nsenter) echo util-linux ;;
	psql) echo postgresql ;;
	/usr/sbin/sshd) echo openssh-server ;;
	/usr/lib/cni/bridge) echo containernetworking-plugins ;;
	*) echo "$1" ;;
	esac
}

missing=
for tool in $tools; do
	command -v "$tool" >/dev/null 2>&1 || missing="$missing $(package "$tool")"
done

if [ -n "$missing" ] && command -v apt-get >/dev/null 2>&1; then
	if [ "$(id -u)" = 0 ]; then
		root=
	elif command -v sudo >/dev/null 2>&1; then
		root=sudo
	else
		root=none
	fi
	if [ "$root" != none ]; then
		echo "installing:$missing"
		log=$(mktemp)
		# shellcheck disable=SC2086 # both are lists of words
		if ! { $root apt-get -o DPkg::Lock::Timeout=120 update &&
			$root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=120 \
				install -y --no-install-recommends $missing; } >"$log" 2>&1; then
			cat "$log" >&2
		fi
		rm -f "$log"
	fi
fi

bad=0
say() {
	echo "missing: $1" >&2
	bad=1
}
how() {
	if command -v brew >/dev/null 2>&1; then
		echo "brew install $1"
	elif command -v dnf >/dev/null 2>&1; then
		echo "sudo dnf install $1"
	elif command -v pacman >/dev/null 2>&1; then
		echo "sudo pacman -S $1"
	elif command -v apk >/dev/null 2>&1; then
		echo "sudo apk add $1"
	elif command -v apt-get >/dev/null 2>&1; then
		echo "sudo apt-get install $1"
	else
		echo "your system's package manager, package $1 (macOS: brew install $1)"
	fi
}
for tool in $tools; do
	command -v "$tool" >/dev/null 2>&1 || say "$tool. Get it with: $(how "$(package "$tool")")"
done
if ! command -v "$go" >/dev/null 2>&1; then
	say "go. Get Go $want_go or later from https://go.dev/dl/"
elif ! "$go" version | awk -v want="$want_go" '{
		split(substr($3, 3), have, /[.a-z]/); split(want, w, ".")
		exit !(have[1] > w[1] || have[1] == w[1] && have[2] + 0 >= w[2] + 0) }'; then
	say "Go $want_go or later ($("$go" version) is here). Get it from https://go.dev/dl/"
fi
exit $bad
