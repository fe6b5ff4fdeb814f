// Package changes counts how far workspaces are from their bases: lines, untracked files and
// commits.
//
// A count takes git processes, and status shows hundreds of workspaces. So a Counter keeps
// counts in a file of the data directory, and counts a workspace again only if something
// says that it may have changed: the stamps of HEAD, the index and the base; those of the
// files that differ and of the directories around them; or output of the session since
// the count. What none of these shows, such as an edit in place of a file without changes
// while the agent is idle, is counted after maxAge, a few workspaces at a time.
package changes
