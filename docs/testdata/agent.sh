#!/bin/sh
# Stands in for claude, codex or gemini in the documents: shows a prompt as that
# agent does, and takes /exit. What it is given to do is its last argument. If that
# names a file and says "Commit it.", it adds the task to the file and commits that;
# what it marked TODO it removes when its work does not pass verification. It merges main,
# and of what conflicts it keeps both.
trap 'exit 143' TERM
for task; do :; done

prompt() {
	case ${0##*/} in
	claude) printf '\n────────────────────\n? for shortcuts\n❯ ' ;;
	codex) printf '\n  gpt-5 default · %s\n› ' "$PWD" ;;
	gemini) printf '\n> Type your message or @path/to/file\n> ' ;;
	esac
}

commit() {
	git add "$file" && git commit --quiet --message "$1" && git log --format='%h %s' -1
}

printf '%s, at your service\n' "${0##*/}"
[ $# -eq 0 ] || printf 'task: %s\n' "$task"
file=$(expr "$task" : '.* in \([a-z]*\.md\)')
case $task in
*'Commit it.')
	printf '%s\n' "${task%%,*}" >>"$file"
	commit "${task%%,*}"
	;;
esac
prompt
while IFS= read -r line; do
	case $line in
	/exit | /quit) exit 0 ;;
	deploy*)
		printf '\033[2J\033[HRun "make deploy"? [y/N] '
		read -r yes
		printf 'understood: %s\n' "$yes"
		;;
	*'does not pass verification'*)
		sed '/TODO/d' "$file" >"$file.new" && mv "$file.new" "$file"
		commit "Finish $file"
		;;
	*'Merge main'*)
		git merge --quiet main >/dev/null || for file in $(git diff --name-only --diff-filter=U); do
			grep -v -e '^<<<<<<<' -e '^=======' -e '^>>>>>>>' "$file" >"$file.new" && mv "$file.new" "$file"
			commit 'Merge main'
		done
		;;
	*) printf 'understood: %s\n' "$line" ;;
	esac
	prompt
done
