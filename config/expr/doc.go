// Package expr evaluates the expressions of a manifest and decodes them into Go values. It knows
// no session and no type of block; package config does.
package expr
