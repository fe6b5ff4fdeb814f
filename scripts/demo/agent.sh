#!/bin/sh
# Stands in for a coding agent in make demo: no account, no model, no network.
# On agents/api it asks before it writes its file. On agents/web it works until
# that file is committed. Then it waits at its prompt.
set -eu
branch=$(git symbolic-ref --short HEAD)
name=${branch#agents/}

wrote() { git cat-file -e "agents/$1:$1.txt" 2>/dev/null; }

if ! wrote "$name"; then
	if [ "$name" = api ]; then
		printf 'May I write api.txt? (y/n) '
		read -r answer
		[ "$answer" = y ]
	else
		printf 'working: waiting for api.txt'
		until wrote api; do sleep 0.1; done
		printf '\r\033[2K'
	fi
	echo "GET /orders" >"$name.txt"
	git add "$name.txt"
	git commit -q -m "Write $name.txt"
fi
echo "$name.txt is written"
while printf 'ready> ' && read -r line; do
	echo "you said: $line"
done
