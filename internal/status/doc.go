// Package status builds what is reported of sessions.
//
// Package fleet joins what the engine observed, what the agent does and the history into an
// Input, and Pending makes that of a session that is only wanted; AnnotateHolds and Forecast
// add what the hub does. Of makes the document of a session, and every other document of
// package api but the report is built here as well, for commands, the HTTP API and the hub
// alike.
package status
