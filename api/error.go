package api

// Error is why something was not done, as it is answered: {"error": {…}}.
type Error struct {
	Status  int    `json:"-"`       // of HTTP
	Code    string `json:"code"`    // in snake_case, for programs
	Message string `json:"message"` // for people
	Next    string `json:"next"`    // what to do about it; empty: nothing is known
}

// Error is what happened, and below it what to do.
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
