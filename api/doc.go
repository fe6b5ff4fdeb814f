// Package api has the JSON documents of agentform and the client of its hub.
//
// The same documents are printed by the commands with --json and served by the hub:
// StatusDocument by status, ShownDocument by show, PlanDocument by plan, EventRecord by
// events. docs/json.md describes their fields. A Client reads them from a hub over its
// unix socket.
package api
