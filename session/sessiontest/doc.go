// Package sessiontest holds what tests of sessions share: Scripted, a
// session.Runtime that lives in memory and does what a test tells it, and Suite,
// the tests that every runtime passes. Scripted passes them too, so what is
// tested against it is tested against the truth.
package sessiontest
