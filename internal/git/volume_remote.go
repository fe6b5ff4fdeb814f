package git

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// Server is a repository on a server, and how git in another place is allowed to use it.
type Server struct {
	URL string
	// Secret is the name of the secret with the password. An agent that has the secret in
	// its environment can push with it. Empty: none is needed.
	Secret string
	// File is a file in the other place that has the password; empty: Password is it.
	File     string
	Password string
	Name     string // of commits; empty: as git in that place has it
	Mail     string
}

// tokenUser is the user of a token whose URL names none. GitHub's documentation has it; GitLab
// and Gitea take any name.
const tokenUser = "x-access-token"

// helper returns git's setting for a repository's server: a credential helper, which reads the
// password from a file, or from a variable of whoever runs git. The setting has the names only.
func (r Server) helper() (key, value, user string, err error) {
	u, err := url.Parse(r.URL)
	if err != nil || u.Host == "" {
		return "", "", "", errors.New("its URL is invalid")
	}
	if user = u.User.Username(); user == "" {
		user = tokenUser
	}
	read := `"$` + r.Secret + `"`
	if r.File != "" {
		read = `"$(cat '` + r.File + `')"`
	}
	return "credential." + u.Scheme + "://" + u.Host, `!f() { [ "$1" != get ] || printf 'password=%s\n' ` + read + `; }; f`, user, nil
}

// askServer defines r, which is git with the password on standard input, if there is one, for
// the server of the setting $key. The password is in a file in memory until that is removed.
const askServer = `
# A server that sends nothing for 30 seconds is not waited for.
export GIT_HTTP_LOW_SPEED_LIMIT=1 GIT_HTTP_LOW_SPEED_TIME=30
limit=$(command -v timeout) || limit=
git() { if [ -n "$limit" ]; then timeout 30 env git "$@"; else command git "$@"; fi; }
IFS= read -r given || true
if [ -n "$given" ]; then
	store=/dev/shm
	[ -w "$store" ] || store=${TMPDIR:-/tmp}
	password=$store/.agentform-$mark
	(umask 077 && printf '%s\n' "$given" >"$password")
	given=
	r() { g -c "$key.helper=" -c "$key.helper=!f() { [ \"\$1\" != get ] || printf 'password=%s\\n' \"\$(cat '$password')\"; }; f" "$@"; }
else
	r() { g "$@"; }
fi
`

// cloneRemote makes a clone of a repository on a server. It appears as a whole, and never over
// anything that exists. A password is on standard input, and is in a file in memory while git
// needs it.
const cloneRemote = `set -e
path=$1 branch=$2 url=$3 base=$4 mark=$5 name=$6 mail=$7 key=$8 helper=$9
shift 9
user=$1
if [ -e "$path/.git" ] || [ -L "$path/.git" ]; then echo "it is a clone already" >&2; exit 1; fi
if [ -e "$path" ] && [ -n "$(ls -A "$path")" ]; then echo "it has files, and is not a git checkout" >&2; exit 1; fi
dir=${path%/*} base_name=${path##*/}
mkdir -p "$dir"
rm -rf "$dir/.agentform-part-$base_name-"*
part=$dir/.agentform-part-$base_name-$mark
password=
trap 'rm -rf "$part" ${password:+"$password"}' EXIT
trap 'exit 1' HUP INT TERM
mkdir "$part"
cd "$part"
export GIT_DEFAULT_REF_FORMAT=files
g init --quiet --template= .
g remote add origin "$url"
if [ -n "$helper" ]; then
	g config "$key.username" "$user"
	g config "$key.helper" "$helper"
fi
` + askServer + `default=$(r ls-remote --symref origin HEAD) || { [ $? != 124 ] || echo "the server does not answer for 30 seconds" >&2; exit 1; }
limit=
default=$(printf '%s\n' "$default" | while read -r kind ref name; do if [ "$kind $name" = "ref: HEAD" ]; then echo "${ref#refs/heads/}"; fi; done)
r fetch --quiet --no-write-fetch-head --no-recurse-submodules --no-auto-maintenance --tags origin '+refs/heads/*:refs/remotes/origin/*'
if start=$(g rev-parse --quiet --verify "refs/remotes/origin/$branch^{commit}"); then made=
elif [ -z "$base" ]; then
	made=made
	[ -n "$default" ] || { echo "the repository has no default branch: set base" >&2; exit 1; }
	start=$(g rev-parse --quiet --verify "refs/remotes/origin/$default^{commit}") || { echo "the repository has no commit" >&2; exit 1; }
else
	made=made
	start=$(g rev-parse --quiet --verify "refs/remotes/origin/$base^{commit}" || g rev-parse --quiet --verify "refs/tags/$base^{commit}" || g rev-parse --quiet --verify "$base^{commit}") ||
		{ echo "the repository has no branch, tag or commit $base" >&2; exit 1; }
fi
g update-ref ` + startRef + ` "$start"
g symbolic-ref HEAD "refs/heads/$branch"
g reset --quiet --hard "$start" --
g config "branch.$branch.remote" origin
g config "branch.$branch.merge" "refs/heads/$branch"
[ -z "$name" ] || g config user.name "$name"
[ -z "$mail" ] || g config user.email "$mail"
[ ! -d "$path" ] || rmdir "$path"
[ ! -e "$path" ]
mv "$part" "$path"
[ -e "$path/.git" ]
echo "$made"
`

// startRef has the commit that a clone of a repository on a server was made from. It is
// never pushed.
const startRef = "refs/agentform/start"

// AddRemoteClone clones a repository on a server into the directory, with git there. The branch
// is the server's if it has one of that name; else it starts at the base: a branch, a tag or a
// commit, or if that is empty, the server's default branch. It reports whether the branch is new.
func (v Volume) AddRemoteClone(ctx context.Context, r Server, branch, base string) (made bool, err error) {
	defer wrap(&err, "clone %s to %s on branch %q", r.URL, v.Path, branch)
	var key, helper, user string
	if r.Secret != "" {
		if key, helper, user, err = r.helper(); err != nil {
			return false, err
		}
	}
	if strings.ContainsAny(r.Password, "\n\r\x00") {
		return false, fmt.Errorf("the secret %s has more than one line", r.Secret)
	}
	out := output(outputLimit)
	err = v.run(ctx, strings.NewReader(r.Password+"\n"), out,
		script(cloneRemote, v.Path, branch, r.URL, base, strings.ToLower(rand.Text()), r.Name, r.Mail, key, helper, user)...)
	return strings.TrimSpace(out.String()) == "made", err
}

// unpushed follows lookOnVolume: it prints the commits of refs and reflogs that the server
// currently lacks.
const unpushed = `
key=$2 mark=$3 password=
commits=.git/agentform.commits list=.git/agentform.list
trap 'rm -f "$commits" "$list" ${password:+"$password"}' EXIT
` + askServer + `
r ls-remote --quiet origin >"$list" || { [ $? != 124 ] || echo "the server does not answer for 30 seconds" >&2; exit 1; }
limit=
g for-each-ref --format='%(objectname)' >"$commits" || exit 1
g log --walk-reflogs --all --format=%H >>"$commits" || exit 1
while read -r commit _; do echo "$commit"; done <"$list" | g cat-file --batch-check='%(objecttype) %(objectname)' |
	while read -r kind commit _; do case $kind in commit | tag) echo "^$commit" ;; esac; done >>"$commits"
g rev-list --stdin <"$commits" >"$list" || exit 1
while read -r commit; do echo "unpushed $commit"; done <"$list"
rm -f "$commits" "$list" ${password:+"$password"}
trap - EXIT
`
