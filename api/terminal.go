package api

// The close codes of a terminal's WebSocket say what a client does next.
const (
	// CloseShuttingDown means that the hub is stopping: retry with the next one.
	CloseShuttingDown = 1001
	// CloseNotReady means that the session is paused or cannot be reached: retry.
	CloseNotReady = 1013
	// CloseGone means that the session has no agent: do not retry, POST restart.
	CloseGone = 4001
	// CloseTakenOver means that another client of the session detached the terminal: do not
	// retry by itself.
	CloseTakenOver = 4002
)

// TerminalInput is a message of a client of a terminal.
type TerminalInput struct {
	// Type is input, resize, control, pause or resume.
	Type string `json:"type"`
	Data string `json:"data,omitempty"` // of input: what is typed
	Cols int    `json:"cols,omitempty"` // of resize: the size of the client, with the status line
	Rows int    `json:"rows,omitempty"`
	Take bool   `json:"take,omitempty"` // of control: false releases it
}

// TerminalState is a message to a client of a terminal. What the terminal shows comes in
// binary messages.
type TerminalState struct {
	Type     string `json:"type"`    // state or error
	Control  string `json:"control"` // who types and has the size: you, other, nobody
	By       string `json:"by"`      // the author of who controls; empty: nobody does
	Viewers  int    `json:"viewers"`
	Cols     int    `json:"cols"` // of the terminal, with the status line
	Rows     int    `json:"rows"`
	ReadOnly bool   `json:"read_only"` // the client may not take control
	Message  string `json:"message"`   // of error
}
