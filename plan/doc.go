// Package plan decides: it compares what is wanted with what is recorded and what is
// live, and returns what to do with each session, and why.
//
// Compute is pure. It asks nothing, waits for nothing and changes nothing; the same
// input gives the same plan, whatever its order.
package plan
