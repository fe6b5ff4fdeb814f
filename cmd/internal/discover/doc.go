// Package discover finds coding agents in the user's tmux servers. It only queries running servers,
// and changes nothing.
package discover
