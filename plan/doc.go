// Package plan decides: it lays what is wanted beside what is on record and
// what is live, and says what is to be done with each session, and why.
//
// Compute is pure. It asks nothing, waits for nothing and changes nothing; the
// same input gives the same plan, whatever its order.
package plan
