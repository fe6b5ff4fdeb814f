// Package config turns a project's manifests into plain values: session.Spec values with every
// default filled in, or every problem at once.
//
// Package expr evaluates the expressions; no other package uses HCL. The attributes are rows of
// package language: decode reads a block by them, the defaults are theirs, and Generate writes
// what differs from these. Only what a row cannot say has code here.
//
// A manifest is evaluated once, in phases that pass values. A value that cannot be evaluated
// becomes unknown, its problem is reported where it arose, and what depends on it is skipped, so
// that one mistake is one error. No process is started.
package config
