// Package arch says which package may stand on which. It holds nothing but the
// test that keeps docs/ARCHITECTURE.md true.
package arch
