// Package config turns a project's manifests into plain values: HCL goes in,
// session.Spec values with every default filled in come out, or every problem
// at once.
//
// It is the only package that knows HCL. A manifest is evaluated once, in this
// order: files, variables, locals, settings, agents, the instances of each
// session block, and then each session. A value that could not be had becomes
// unknown, its problem is told where it arose, and whatever depends on it is
// passed over in silence, so that one mistake is one error.
//
// It reads files and starts no process. Whether an agent's command is installed
// or a secret is set is not its business.
package config
