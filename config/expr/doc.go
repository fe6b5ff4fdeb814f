// Package expr evaluates the expressions of a manifest and decodes them into Go values.
//
// It holds what every block needs: the functions, the directories that they may read, the
// limits of an evaluation, the problems found, and the Decoder. It knows no session and
// no type of block; package config does.
package expr
