// Package remedy puts the remedies of problems into words and command lines.
//
// Plans and errors have remedies as facts. The engine adds the words to the plans
// that it returns, an error to its text.
package remedy
