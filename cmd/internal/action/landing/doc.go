// Package landing lands the work of a project's sessions in their bases, and merges bases into the
// sessions' branches.
package landing
