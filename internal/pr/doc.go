// Package pr carries what becomes of a session's pull request to its agent: checks that failed,
// and what reviews ask for, each once. It records that the pull request was merged.
//
// What the agent is about to be sent is recorded before it is typed: whenever a process is killed,
// the agent is given nothing twice.
package pr
