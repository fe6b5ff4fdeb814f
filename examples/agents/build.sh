#!/bin/sh
# A one-shot agent: does what its last argument says, commits it, leaves with 0.
set -eu

for task; do :; done # the last argument
task=${task:-build}

printf 'started: %s\n' "$task"
sleep 1
mkdir -p build
printf '%s, at %s\n' "$task" "$(date)" >build/result.txt
git add build/result.txt
git -c user.name='scripted agent' -c user.email=agent@example.invalid -c commit.gpgsign=false \
	commit --quiet --no-verify --allow-empty -m "build: $task" -- build/result.txt
printf 'finished: %s\n' "$task"
