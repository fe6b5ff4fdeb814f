// Package projectdir finds the project that a directory belongs to.
package projectdir
