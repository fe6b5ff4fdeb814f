// Package git makes and removes the worktrees and clones that sessions work in, and reports
// what is checked out where.
//
// Looking reads git's files and starts no process, because it is done for every session all
// the time. Changing runs git in a clean environment, without programs of the repository.
// Only making a worktree runs its hooks, as git does for a person.
//
// In a clone, the workspace of a container whose agent is not trusted, no git runs: LookClone
// and CloneRisk read its files, Fetch reads its objects, and a Runner asks for what is not
// committed inside the container.
//
// Removal is refused if anything would be lost: changes, also of marked files; commits that
// nothing else holds, by refs and by reflogs; and the same of every worktree and repository
// below the checkout.
//
// Landing merges work in a scratch checkout of its own, as the person whose repository it is:
// with their hooks and signing. Then it moves the base from the commit that was merged with.
//
// Nothing here switches a branch of a checkout. A branch is deleted if it was just made, or if
// a caller has seen its work in another one.
package git
