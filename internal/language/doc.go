// Package language is the table of what a manifest says of sessions: a row for each attribute,
// with its kind, default, documentation, field in session.Spec and what a change forces.
//
// Package config decodes manifests by it and generates them, package plan compares specs by it,
// and the JSON Schema, explain and docs/manifest.md are written from it. A row may say that an
// attribute is decoded apart: config has code for it.
package language
