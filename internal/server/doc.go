// Package server serves the hub over HTTP, on a unix socket and, with a token, on TCP,
// with the page for browsers.
//
// The table routes has every endpoint: the handlers are registered from it, and the
// OpenAPI document is generated from it. Responses are the documents of the command
// line: sessions as in status --json, one in full as in show --json, events as in
// events --json. Actions take the hub's own path, under the state's lock and with an
// author.
//
// The directory and the mode of the socket admit only the owner of the hub. TCP requires a
// token. To keep out pages in the owner's browser, the Host and the Origin of each
// request are checked, and no other origin is allowed. All sizes and times are bounded:
// headers, bodies, connections, and how long a client may take to read.
package server
