// Package initd is the first process of a container: it reaps orphans, keeps the tmux
// server, and acts in the container on requests from outside.
package initd
