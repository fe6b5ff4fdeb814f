// Package server serves the hub over HTTP, on a unix socket and, with a token, on TCP,
// with the dashboard.
//
// All that can be asked stands in one table (routes): the handlers are registered
// from it, and the OpenAPI document is made from it. What is answered are the
// documents of the command line: sessions as status --json has them, one in full as
// show --json, events as events --json. What is asked for by hand goes the hub's own
// way, under the state's lock and with a name.
//
// Whoever may connect to the socket is the person whose hub it is: its folder and
// its mode see to that. On TCP a token says so. Against pages in the person's browser
// the Host and the Origin of each request are looked at, and nothing allows another
// origin. All sizes and times are bounded: headers, bodies, connections, and how long
// somebody may take to read.
package server
