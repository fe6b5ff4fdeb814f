// Package apply carries a plan out: dependencies first, several sessions at
// once, each of them recorded before it is touched and settled after. It is the
// only writer of state, so a record never says less than what is live.
package apply
