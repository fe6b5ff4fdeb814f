// Package session is the vocabulary of agentform: what a coding-agent session is
// wanted to be (Spec), what is on record about it (Record), what is seen of it
// (Live, World), and the two doors to the outside that every session goes
// through: a Runtime that holds it and an Agent that knows the program in it.
//
// It holds plain values and the few pure functions that belong to them. It
// imports nothing of agentform, so every other package may speak it.
package session
