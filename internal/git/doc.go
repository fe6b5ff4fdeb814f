// Package git is the door to git: it makes and removes the worktrees and clones
// that sessions work in, and says what is checked out where.
//
// Looking reads git's files and starts no process, because it is done for every
// session at every look. Changing runs git, in a clean environment and with
// what a repository could make it run (fsmonitor, hooks) switched off; only
// making a worktree runs the repository's hooks, as a person's own git would.
// It is still git in that repository. In a clone, the workspace of a container
// whose agent may not be trusted, no git is run at all: LookClone and CloneRisk
// read its files, Fetch takes its objects alone, and what is not committed there
// has to be asked for inside the container, by a Runner.
//
// What would be lost with a checkout is examined in one way for worktrees and
// clones: changes, also of marked files; commits that nothing else holds, by refs
// and by reflogs; and the same of every worktree and repository below it.
//
// Nothing here ever switches a branch, deletes one that it has not just made,
// or removes work that is not committed and reachable.
package git
