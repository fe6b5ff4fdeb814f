#!/bin/sh
# A stand-in for a coding agent: no account, no model, no network. It is given
# its task as its last argument, says what it does, commits a note on its
# branch, and then stays at a prompt and answers what it is told.
#
#   ask     asks for permission, as an agent does that may not go on alone
#   work    commits another note
#   fail    leaves with exit status 1
#   exit    leaves with exit status 0
set -eu

for task; do :; done # the last argument
task=${task:-look around}
branch=$(git symbolic-ref --short HEAD)
notes=notes/$(printf %s "$branch" | tr -c 'a-zA-Z0-9\n' -).md

say() { printf '%s\n' "$*"; }

note() {
	mkdir -p notes
	printf -- '- %s\n' "$1" >>"$notes"
	git add "$notes"
	git -c user.name='scripted agent' -c user.email=agent@example.invalid -c commit.gpgsign=false \
		commit --quiet --no-verify -m "note: $1" -- "$notes"
	say "committed: $(git log -1 --format='%h %s')"
}

say "scripted agent, process $$, on branch $branch"
say "task: $task"
if [ -e "$notes" ]; then
	say "there is work on this branch already: going on"
else
	note "$task"
fi
say "done with the task. Tell me more: ask, work, fail, exit, or anything"

while printf '> ' && IFS= read -r line; do
	case $line in
	ask)
		printf 'May I go on? (y/n) '
		IFS= read -r answer || break
		say "you said: $answer"
		;;
	work) note "more of: $task" ;;
	fail)
		say "I give up"
		exit 1
		;;
	exit | quit) break ;;
	*) say "you said: $line" ;;
	esac
done
say "good night"
