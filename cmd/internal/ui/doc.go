// Package ui shows the sessions of a project on a terminal, and reads keys.
//
// Model is pure: Update takes a key, a size or an answer and returns the next model with requests,
// and View returns the screen. Run connects a model to a terminal and a Backend.
package ui
