// Package launch starts an agent, waits until the agent can take a prompt, and
// delivers the prompt.
//
// It is the only way in which a run begins: package apply launches the sessions of a
// manifest with it, and the library those of a program. Prepare computes the command
// line, the environment and the files of a run. Run.Start starts the run, Run.Ready
// waits for the agent, and Run.Type types a text and verifies that the agent took it.
package launch
