// Package terminal relays the terminal of a session to viewers: it runs the command that
// attaches to the session on a pseudo-terminal of its own, and cuts what it prints into
// frames.
package terminal
