// Package activity says what agents are doing, and tells each change once.
//
// A Reader lays together what a look at the runtime saw of a session (title,
// screen, exit) with what the agent's own session files and its hooks tell, has
// the agent's adapter weigh them, and keeps what it has read for the next look.
// Changes compares the outcome with what the session's history has been told and
// says what is new: another status, the end of the first turn, a pull request.
// Commands that look and the hub that watches share it, so whoever sees a change
// first tells it, and nobody twice.
//
// An agent's own file that is not there says nothing about its life. Until it may
// be there a session is unobserved: neither idle nor dead.
package activity
