// Package initd is the first process of a container. It reaps orphans, manages the tmux server, and
// serves requests from outside.
package initd
