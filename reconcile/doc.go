// Package reconcile is the one path on which sessions change: look at what is
// live, compute the plan, carry it out under the lock of the state.
package reconcile
