#!/usr/bin/env bash
# make demo: a day with agentform in a throw-away repository. All of it, worktrees,
# sockets and state, is in one directory under /tmp that is removed at the end, also
# after Ctrl-C. An act whose effect is missing ends it with an error.
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
# Short on purpose: a socket's path may have 107 bytes.
tmp=$(mktemp -d /tmp/agentform-demo.XXXXXX)
repo=$tmp/shop

# Nobody's git configuration, sockets, project or environment.
clean=("PATH=$PATH" "TERM=${TERM:-dumb}" "HOME=$tmp/home" "XDG_RUNTIME_DIR=$tmp/run" GIT_CONFIG_NOSYSTEM=1)
mkdir -m 700 "$tmp/home" "$tmp/run"
agentform() { env -i "${clean[@]}" "$here/bin/agentform" --no-pager "$@"; }
git() { env -i "${clean[@]}" git "$@"; }

act=start
fail() {
	printf '\ndemo: %s: %s\n' "$act" "$1" >&2
	exit 1
}

servers() {
	find "$tmp/run" -type s -name 'tmux-*' 2>/dev/null | while read -r socket; do
		if tmux -S "$socket" list-sessions >/dev/null 2>&1; then echo "$socket"; fi
	done
}

leave() {
	code=$?
	trap - EXIT INT TERM
	if [ -d "$repo/.agentform" ]; then
		(cd "$repo" && agentform destroy --auto-approve >/dev/null 2>&1) || true
	fi
	left=$(servers)
	for socket in $left; do
		tmux -S "$socket" kill-server 2>/dev/null || true
	done
	rm -rf "$tmp"
	if [ "$code" -eq 0 ] && [ -n "$left" ]; then
		echo "demo: destroy left a tmux server on $left" >&2
		code=1
	fi
	exit "$code"
}
trap leave EXIT
trap 'exit 130' INT TERM

if [ -t 1 ]; then
	bold=$'\e[1m' dim=$'\e[2m' plain=$'\e[0m' pace=${DEMO_PACE:-1.5}
else
	bold='' dim='' plain='' pace=${DEMO_PACE:-0}
fi
act() {
	act=$1
	sleep "$pace"
	printf '\n%s== %s%s\n' "$bold" "$1" "$plain"
}
# run CODE LINE: shows a command line, runs it, and requires that exit status.
run() {
	local got=0
	printf '%s$ %s%s\n' "$dim" "$2" "$plain"
	eval "$2" || got=$?
	[ "$got" -eq "$1" ] || fail "exit status $got instead of $1: $2"
}
# doing SESSION ACTIVITY: whether the agent of the session does that.
doing() {
	agentform status -o template='{{range .sessions}}{{.name}} {{.activity}}{{"\n"}}{{end}}' | grep -qx "$1 $2"
}
# within_20s COMMAND...: waits until it succeeds.
within_20s() {
	local end=$((SECONDS + 20))
	until "$@"; do
		[ "$SECONDS" -lt "$end" ] || fail "not so after 20 seconds: $*"
		sleep 0.1
	done
}

git init -q -b main "$repo"
cd "$repo"
git config user.name demo
git config user.email demo@example.invalid
cp "$here"/scripts/demo/* .
echo .agentform/ >.gitignore
git add .
git commit -q -m "A shop"

act "agentform.hcl: two agents, which are scripts here, each on a branch of its own"
sed -n '/^session/,$p' agentform.hcl

act "plan shows what would happen, and apply does it"
run 2 "agentform plan --detailed-exitcode"
run 0 "agentform apply --auto-approve | tail -n 1"

act "status: one works, the other one asks. After an answer both finish"
within_20s doing api blocked
within_20s doing web working
run 0 "agentform status"
run 0 "agentform answer api yes"
within_20s doing api idle
within_20s doing web idle
run 0 "agentform status --short"

act "One agent is killed, the other one changes its branch: plan finds both"
run 0 "kill -9 $(agentform status -o template='{{range .sessions}}{{if eq .name "api"}}{{.pid}}{{end}}{{end}}')"
within_20s doing api exited
agentform plan --detailed-exitcode >"$tmp/plan" && fail "plan has no changes"
grep -q 'session.api will be restarted' "$tmp/plan" || fail "plan does not restart the killed agent"
web=$(agentform path web)
run 0 "git -C ${web#"$repo/"} switch -q -c elsewhere"
run 1 "agentform plan"

act "The branch is put back, and apply restarts the agent that was killed"
run 0 "git -C ${web#"$repo/"} switch -q agents/web"
run 0 "agentform apply --auto-approve --wait | tail -n 1"
run 0 "agentform plan --detailed-exitcode"

act "diff, and land: the work of web comes to main"
run 0 "agentform diff --stat web"
run 0 "agentform land web --keep"
[ "$(git log --format=%s main -- web.txt)" = "Write web.txt" ] || fail "git log main lacks the commit"

printf '\nNext, in a repository of yours: %s\n' "$here/bin/agentform init"
