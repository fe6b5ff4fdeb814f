// Package launch starts an agent, waits until the agent can take a prompt, and
// delivers the prompt.
//
// It is the only way in which a run begins, for package apply and for the library.
package launch
