// Package apply carries a plan out: dependencies first, several sessions at once, each
// recorded before it is touched and settled after. It is the only writer of state.
package apply
