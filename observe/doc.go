// Package observe takes one look at everything live: the sessions in their
// runtimes, the workspaces on disk, the repositories' worktrees, and what the
// folders of runs tell. It is read-only and never fails: what could not be
// reached is part of what it saw.
package observe
