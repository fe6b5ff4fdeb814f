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
	ReadOnly bool `json:"read_only,omitempty"` // the page may only look
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
