package api

import "time"

// Scope is what a login may do.
type Scope string

// The scopes.
const (
	Read    Scope = "read"    // look
	Operate Scope = "operate" // act as well
)

// LinkOptions is the body of links.
type LinkOptions struct {
	ReadOnly bool   `json:"read_only,omitempty"` // the page may only look
	Name     string `json:"name,omitempty"`      // of the login, which is shown with its browser; empty: the start of its id
}

// Link logs a browser in, once.
type Link struct {
	Format string    `json:"format_version"`
	URL    string    `json:"url"`
	Scope  Scope     `json:"scope"`
	Until  time.Time `json:"until"`
}

// Login is the body of login: one of both.
type Login struct {
	Code  string `json:"code,omitempty"`  // of a link
	Token string `json:"token,omitempty"` // of the API
}

// Access is what the caller may do.
type Access struct {
	Format  string `json:"format_version"`
	Project string `json:"project"`
	Version string `json:"agentform_version"`
	Scope   Scope  `json:"scope"`
	By      string `json:"by"` // the author of what the caller does; empty: not logged in
}

// LoginsDocument is the browsers that are logged in.
type LoginsDocument struct {
	Format string      `json:"format_version"`
	Logins []OpenLogin `json:"logins"` // the caller's is first, then those that were used last
	// Problem says why the hub cannot keep them, for people: a login that is ended is open again at the
	// next hub. Empty: it can.
	Problem string `json:"problem"`
}

// OpenLogin is a browser that is logged in.
type OpenLogin struct {
	ID    string    `json:"id"`
	Name  string    `json:"name"` // in the history and at terminals: page phone (Safari on iPhone)
	Scope Scope     `json:"scope"`
	Since time.Time `json:"since"`
	Until time.Time `json:"until"`
	Used  time.Time `json:"used"` // when it last sent a request; after a crash of the hub up to a minute before that
	Own   bool      `json:"own"`  // it is the caller's
}
