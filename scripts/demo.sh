#!/usr/bin/env bash
# make demo: agentform in a throw-away repository, from nothing to nothing.
# All of it, worktrees, sockets and state, lies in one folder under /tmp that is
# removed at the end, also after Ctrl-C.
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
# Short on purpose: a socket's path may have 107 bytes.
tmp=$(mktemp -d /tmp/agentform-demo.XXXXXX)
repo=$tmp/shop

# A world of its own: nobody's git configuration, sockets or project.
export PATH="$here/bin:$PATH" HOME=$tmp/home XDG_RUNTIME_DIR=$tmp/run
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=$tmp/home/.gitconfig
unset TMUX TMUX_PANE "${!AGENTFORM_@}" "${!GIT_DIR@}" GIT_WORK_TREE
mkdir -m 700 "$HOME" "$XDG_RUNTIME_DIR"

leave() {
	code=$?
	trap - EXIT INT TERM
	if [ -d "$repo/.agentform" ]; then
		(cd "$repo" && agentform destroy --auto-approve >/dev/null 2>&1) || true
	fi
	# Should that have failed: the tmux servers whose sockets are ours.
	find "$tmp/run" -type s -name 'tmux-*' 2>/dev/null | while read -r socket; do
		tmux -S "$socket" kill-server 2>/dev/null || true
	done
	rm -rf "$tmp"
	if [ "$code" -ne 0 ]; then
		printf '\nThe demo failed (exit %s).\n' "$code" >&2
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
step() {
	sleep "$pace"
	printf '\n%s== %s%s\n' "$bold" "$1" "$plain"
}
show() { printf '%s$ %s%s\n' "$dim" "$*" "$plain"; }
# run COMMAND...: shows it, runs it, wants it to succeed.
run() {
	show "$@"
	"$@"
}
# wants CODE COMMAND...: shows it, runs it, wants that exit status.
wants() {
	local want=$1 got=0
	shift
	show "$@"
	"$@" || got=$?
	if [ "$got" -ne "$want" ]; then
		echo "demo: exit $got, want $want" >&2
		exit 1
	fi
	printf '%s(exit %s)%s\n' "$dim" "$got" "$plain"
}

step "A repository, and a manifest: three agents, each on a branch of its own"
git init -q -b main "$repo"
cd "$repo"
git config user.name demo
git config user.email demo@example.invalid
cp -R "$here/examples/quickstart.hcl" "$here/examples/agents" .
mv quickstart.hcl agentform.hcl
echo .agentform/ >.gitignore
git add .
git commit -q -m "a shop"
show "sed -n '/^session \"api\"/,\$p' agentform.hcl"
sed -n '/^session "api"/,$p' agentform.hcl

step "plan: what would happen. Nothing is touched"
wants 2 agentform plan --detailed-exitcode

step "apply: make it so"
run agentform apply --auto-approve --wait

step "status: what is wanted, what is there, what each agent does"
run agentform status

step "The agents are at work, each in its worktree"
run agentform capture api
run git log --all --oneline

step "One of them asks for permission: status says that it waits for you"
run agentform send docs ask
sleep 0.5
run agentform status docs
run agentform send docs --key y --key Enter

step "One agent is killed. plan sees it, and says why"
pid=$(agentform capture api | sed -n 's/.*process \([0-9][0-9]*\),.*/\1/p' | tail -n 1)
run kill -9 "$pid"
sleep 0.5
wants 2 agentform plan --detailed-exitcode

step "apply mends it, and only it"
run agentform apply --auto-approve --wait
wants 0 agentform plan --detailed-exitcode

step "Another agent wanders off to a branch that is not its own: an error"
web=$(git worktree list --porcelain | awk '/^worktree /{path = substr($0, 10)} /^branch refs\/heads\/quickstart\/web$/{print path}')
run git -C "$web" switch -q -c elsewhere
wants 1 agentform plan --detailed-exitcode
run git -C "$web" switch -q quickstart/web
run git -C "$web" branch -q -d elsewhere
wants 0 agentform plan --detailed-exitcode

step "destroy: the agents and their worktrees go, their branches and commits stay"
run agentform destroy --auto-approve
run git worktree list
run git branch
if git branch --format='%(refname:short)' | grep -vx -e main -e 'quickstart/.*'; then
	echo "demo: no session had that branch" >&2
	exit 1
fi
for socket in "$tmp"/run/agentform/*/tmux-*; do
	if [ -S "$socket" ] && tmux -S "$socket" list-sessions 2>/dev/null; then
		echo "demo: a tmux server is still running on $socket" >&2
		exit 1
	fi
done

step "That was it. Nothing is left; next: README.md and docs/guide.md"
