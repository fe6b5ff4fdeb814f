// Package health says whether a session is well, and when the hub may start one
// again whose agent is gone.
//
// It is pure: a session's restarts are a fold over what its history tells, so they
// outlive whoever counts them, and every verdict is a function of its input and of
// now. A verdict that something is dead although it runs needs two signals: what
// only one of them says is told to a person, and ends nothing.
package health
