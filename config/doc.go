// Package config turns a project's manifests into plain values: HCL goes in,
// session.Spec values with every default filled in come out, or every problem
// at once.
//
// Package expr evaluates the expressions; no other package uses HCL.
// A manifest is evaluated once, in phases that pass values: files, variables, locals,
// settings, agents, runtimes, the instances of each session block, each session, and
// then outputs and checks. A value that cannot be evaluated becomes unknown, its problem
// is reported where it arose, and what depends on it is skipped, so that one mistake is
// one error.
//
// It reads files and starts no process. Whether an agent's command is installed
// or a secret is set is not its business.
package config
