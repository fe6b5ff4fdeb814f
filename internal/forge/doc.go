// Package forge finds out where a repository has its pull requests, and reads those of GitHub and the
// merge requests of GitLab.
//
// GitHub is asked by gh and GitLab by glab, which have the credentials. What has not changed since
// the last answer is not sent again (RFC 9110, If-None-Match), which costs nothing of GitHub's limit,
// and the rest of a limit is left to others: to the user, and to the agents.
package forge
