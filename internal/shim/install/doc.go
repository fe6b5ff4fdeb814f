// Package install copies agentform-shim to where an upgrade does not touch it.
package install
