// Package health decides whether a session is healthy, and when the hub may restart
// one without an agent.
//
// It is pure: restarts are counted from the session's history, so they outlive the
// process that counts them. That a running agent no longer works takes two signals:
// a single one is reported to a person.
package health
