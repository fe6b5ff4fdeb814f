// Package forge finds out where a repository has its pull requests, and reads those of GitHub.
//
// GitHub is asked by gh, which has the credentials. What has not changed since the last answer
// costs nothing of the limit (RFC 9110, If-None-Match), and the rest of a limit is left to
// others: to the user, and to the agents.
package forge
