#!/bin/sh
# Stands in for claude, codex or gemini in the documents: shows a prompt as that
# agent does, and takes /exit. What it is given to do is its last argument.
trap 'exit 143' TERM
for task; do :; done

prompt() {
	case ${0##*/} in
	claude) printf '\n────────────────────\n? for shortcuts\n❯ ' ;;
	codex) printf '\n  gpt-5 default · %s\n› ' "$PWD" ;;
	gemini) printf '\n> Type your message or @path/to/file\n> ' ;;
	esac
}

printf '%s, at your service\n' "${0##*/}"
[ $# -eq 0 ] || printf 'task: %s\n' "$task"
prompt
while IFS= read -r line; do
	case $line in
	/exit | /quit) exit 0 ;;
	deploy*)
		printf '\033[2J\033[HRun "make deploy"? [y/N] '
		read -r yes
		printf 'understood: %s\n' "$yes"
		;;
	*) printf 'understood: %s\n' "$line" ;;
	esac
	prompt
done
