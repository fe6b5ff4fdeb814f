// Package session is the vocabulary of agentform: plain values, and the pure functions
// that belong to them.
//
// Spec is what is wanted of a session, Record what the state has of it, Live what a
// runtime shows of it, and World one snapshot of everything live. A Runtime holds
// sessions, and an Agent knows the program in one. Implement Runtime to hold sessions
// elsewhere, and Agent to run another program than the built-in ones.
//
// To launch sessions from a program, use package agentform.
package session
