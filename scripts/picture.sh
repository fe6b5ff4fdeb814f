#!/usr/bin/env bash
# Writes docs/demo.svg: plan, drift and repair as the built program prints them.
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
tmp=$(mktemp -d /tmp/agentform-picture.XXXXXX)
export PATH="$here/bin:$PATH" HOME=$tmp/home XDG_RUNTIME_DIR=$tmp/run GIT_CONFIG_NOSYSTEM=1
unset TMUX TMUX_PANE NO_COLOR "${!AGENTFORM_@}" "${!GIT_DIR@}"
export TERM=xterm-256color
mkdir -m 700 "$HOME" "$XDG_RUNTIME_DIR"
trap 'cd "$tmp/shop" && agentform destroy --auto-approve >/dev/null 2>&1; rm -rf "$tmp"' EXIT

git init -q -b main "$tmp/shop"
cd "$tmp/shop"
git config user.name demo
git config user.email demo@example.invalid
cp -R "$here/examples/quickstart.hcl" "$here/examples/agents" .
mv quickstart.hcl agentform.hcl
echo .agentform/ >.gitignore
git add . && git commit -q -m "a shop"

# show COMMAND: prints the command and what it prints on a terminal of 100 columns.
show() {
	printf '\e[1m$ %s\e[0m\n' "$1"
	script -qec "stty cols 100; $1" /dev/null </dev/null | tr -d '\r' | sed "s#\.agentform/[^ ]*/quickstart-web#…/quickstart-web#g" || true
}
quiet() { "$@" >/dev/null 2>&1; }

{
	quiet agentform apply --auto-approve --wait
	show "agentform status"
	printf '\n\e[2m# one agent is killed, another one switches its branch\e[0m\n'
	pid=$(agentform capture api | sed -n 's/.*process \([0-9][0-9]*\),.*/\1/p' | tail -n 1)
	kill -9 "$pid"
	web=$(git worktree list --porcelain | awk '/^worktree /{path = substr($0, 10)} /^branch refs\/heads\/quickstart\/web$/{print path}')
	git -C "$web" switch -q -c elsewhere
	sleep 0.5
	show "agentform plan"
	git -C "$web" switch -q quickstart/web
	printf '\n\e[2m# the branch is put back; apply restarts the agent that died\e[0m\n'
	show "agentform apply --auto-approve --wait"
} | sed 's/\x1b\[[0-9;?]*[A-HJKhlsu]//g' >"$tmp/screen"
(cd "$here" && ${GO:-go} run ./internal/test/picture <"$tmp/screen") >"$here/docs/demo.svg"
