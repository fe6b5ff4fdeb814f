package forge

import (
	"net/url"
	"regexp"
	"strings"
)

// Kind is the kind of a server with pull requests.
type Kind string

// The kinds. Gitea is also Forgejo.
const (
	GitHub          Kind = "GitHub"
	GitLab          Kind = "GitLab"
	Bitbucket       Kind = "Bitbucket"
	BitbucketServer Kind = "Bitbucket Server"
	Gitea           Kind = "Gitea"
	Unknown         Kind = ""
)

// Place is a repository on a forge.
type Place struct {
	Kind Kind
	Web  string // its address for a browser; empty: the remote is not on a server
}

// scp matches git@example.org:shop/api.git.
var scp = regexp.MustCompile(`^(?:[^@/]+@)?([^:/]+):(.*)$`)

// PlaceOf returns the place of a remote's address. It has no user, password or token.
func PlaceOf(remote string) Place {
	host, port, path := "", "", ""
	if u, err := url.Parse(remote); err == nil && u.Host != "" {
		host, path = u.Hostname(), u.Path
		if u.Scheme == "http" || u.Scheme == "https" {
			port = u.Port()
		}
	} else if m := scp.FindStringSubmatch(remote); m != nil && !strings.Contains(remote, "://") {
		host, path = m[1], m[2]
	}
	if host == "" || strings.HasPrefix(remote, "file:") {
		return Place{}
	}
	host = strings.ToLower(host)
	switch host { // what they answer ssh with on port 443
	case "ssh.github.com", "altssh.gitlab.com", "altssh.bitbucket.org":
		host = strings.TrimPrefix(strings.TrimPrefix(host, "altssh."), "ssh.")
	}
	path = strings.Trim(strings.TrimSuffix(strings.Trim(path, "/"), ".git"), "/")
	p := Place{Kind: kindOf(host), Web: "https://" + host}
	if port != "" {
		p.Web += ":" + port
	}
	if p.Kind == BitbucketServer {
		path = strings.TrimPrefix(path, "scm/")
		if project, repo, ok := strings.Cut(path, "/"); ok {
			path = "projects/" + project + "/repos/" + repo
			if user, is := strings.CutPrefix(project, "~"); is {
				path = "users/" + user + "/repos/" + repo
			}
		}
	}
	p.Web += "/" + (&url.URL{Path: path}).EscapedPath()
	return p
}

func kindOf(host string) Kind {
	switch {
	case host == "bitbucket.org":
		return Bitbucket
	case host == "codeberg.org":
		return Gitea
	}
	for _, x := range []struct {
		word string
		kind Kind
	}{{"github", GitHub}, {"gitlab", GitLab}, {"bitbucket", BitbucketServer}, {"stash", BitbucketServer}, {"gitea", Gitea}, {"forgejo", Gitea}} {
		if strings.Contains(host, x.word) {
			return x.kind
		}
	}
	return Unknown
}

// Address returns where a pull request from one branch to another is opened; empty: unknown.
func (p Place) Address(branch, base string) string {
	escape := func(s string) string { return (&url.URL{Path: "/" + s}).EscapedPath()[1:] }
	q := url.QueryEscape
	switch p.Kind {
	case GitHub:
		return p.Web + "/compare/" + escape(base) + "..." + escape(branch) + "?expand=1"
	case GitLab:
		return p.Web + "/-/merge_requests/new?merge_request%5Bsource_branch%5D=" + q(branch) + "&merge_request%5Btarget_branch%5D=" + q(base)
	case Bitbucket:
		return p.Web + "/pull-requests/new?source=" + q(branch) + "&dest=" + q(base)
	case BitbucketServer:
		return p.Web + "/pull-requests?create&sourceBranch=" + q("refs/heads/"+branch) + "&targetBranch=" + q("refs/heads/"+base)
	case Gitea:
		return p.Web + "/compare/" + escape(base) + "..." + escape(branch)
	}
	return ""
}

// offered matches an address in a server's output for opening a pull request.
var offered = regexp.MustCompile(`(?m)^remote:\s+(https?://\S+)`)

// Offered returns the first such address in a server's output of a push; empty: none.
func Offered(said string) string {
	if m := offered.FindStringSubmatch(said); m != nil {
		return m[1]
	}
	return ""
}

// ToolOf returns the command line that opens a pull request; nil: none is known.
func ToolOf(k Kind, branch, base, title, body string) []string {
	switch k {
	case GitHub:
		return []string{"gh", "pr", "create", "--head", branch, "--base", base, "--title", title, "--body", body}
	case GitLab:
		return []string{"glab", "mr", "create", "--source-branch", branch, "--target-branch", base, "--title", title, "--description", body, "--yes"}
	}
	return nil
}

// Noun returns what the forge of an address calls a pull request, and the sign before its number.
func Noun(address string) (noun, sign string) {
	if strings.Contains(address, "/merge_requests/") {
		return "merge request", "!"
	}
	return "pull request", "#"
}

var address = regexp.MustCompile(`https?://\S+`)

// LastAddress returns the last address in the output of a tool; empty: there is none.
func LastAddress(out string) string {
	all := address.FindAllString(out, -1)
	if len(all) == 0 {
		return ""
	}
	return all[len(all)-1]
}
