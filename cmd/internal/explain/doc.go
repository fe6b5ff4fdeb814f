// Package explain describes the blocks and attributes of manifests, from the same schema as
// the command schema and docs/manifest.md.
package explain
