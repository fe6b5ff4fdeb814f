// Package discover finds coding agents in the tmux servers of the user who runs agentform.
// It only asks servers that run, and changes nothing.
package discover
