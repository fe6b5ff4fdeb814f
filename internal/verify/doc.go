// Package verify finds out whether the work of sessions holds: it runs the command of a session's
// verify block when a turn has ended, and decides what its failure leads to.
//
// What was found is recorded before anything follows from it, and a failure is recorded as sent
// before it is typed: whenever a process is killed, no failure counts twice, and the agent is
// given none twice.
package verify
