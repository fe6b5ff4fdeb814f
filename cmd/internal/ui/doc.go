// Package ui shows the sessions of a project on a terminal, and takes keys.
//
// Model is pure: Update takes a key, a size or an answer and returns the next model with
// requests, and View returns what the terminal shows. Run connects a model with a terminal
// and a Backend.
package ui
