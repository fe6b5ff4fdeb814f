// Package fleet observes all sessions of a project: what is recorded, what is live, what agents do,
// and what their workspaces changed.
package fleet
