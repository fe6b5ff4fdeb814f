// Package install copies agentform-shim to a place that an upgrade does not touch.
package install
