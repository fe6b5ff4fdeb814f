// Package tmuxwire contains tmux's language: the commands, options, formats and error
// messages that the tmux runtime, the docker runtime and a container's init share.
package tmuxwire
