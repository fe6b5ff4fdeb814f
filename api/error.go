package api

// Error is the error of a response: {"error": {…}}.
type Error struct {
	Status  int    `json:"-"`       // HTTP status
	Code    string `json:"code"`    // in snake_case, for programs
	Message string `json:"message"` // for people
	Next    string `json:"next"`    // what to do next; may be empty
}

// Error returns the message, and on the next line what to do.
func (e *Error) Error() string {
	if e.Next == "" {
		return e.Message
	}
	return e.Message + "\n" + e.Next
}

// Failure is the document of an error.
type Failure struct {
	Error *Error `json:"error"`
}
