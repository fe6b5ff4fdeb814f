// Package landing brings the work of a project's sessions to their bases, and bases into the branches
// of sessions.
package landing
