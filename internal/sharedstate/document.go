package sharedstate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/agentform/agentform/health"
	"github.com/agentform/agentform/internal/backend/sealed"
	"github.com/agentform/agentform/state"
)

// document is the content of a backend: the text of a state, with further facts for decisions.
type document struct {
	state.State
	extras
}

// extras are the additional members of the JSON object.
type extras struct {
	Prompts  map[string]string          `json:"prompts,omitempty"`  // by digest
	Restarts map[string][]health.Moment `json:"restarts,omitempty"` // by the session's id
	// MovedTo is where the state is now, for display. This one is no longer used.
	MovedTo string `json:"moved_to,omitempty"`
}

// movedTo returns the member moved_to of a stored state.
func movedTo(text []byte) string {
	var x extras
	if !bytes.Contains(text, []byte(`"moved_to"`)) || json.Unmarshal(text, &x) != nil {
		return ""
	}
	return x.MovedTo
}

var errEncrypted = errors.New("it is encrypted, and the manifest has no encryption block")

// appendTo returns the text of a state with these members, too.
func (x extras) appendTo(text []byte) ([]byte, error) {
	more, err := json.Marshal(x)
	if err != nil {
		return nil, fmt.Errorf("share state: %w", err)
	}
	if string(more) == "{}" {
		return text, nil
	}
	body, whole := bytes.CutSuffix(text, []byte("\n}\n"))
	if !whole {
		return nil, errors.New("share state: it does not end as a state does")
	}
	return append(append(append(body, ",\n "...), more[1:]...), '\n'), nil
}

func (d document) encode() ([]byte, error) {
	text, err := d.State.Encode()
	if err != nil {
		return nil, err
	}
	return d.extras.appendTo(text)
}

func decode(text []byte) (d document, err error) {
	if sealed.Is(text) {
		return d, errEncrypted
	}
	if d.State, err = state.Decode(text); err != nil {
		return d, err
	}
	return d, json.Unmarshal(text, &d.extras)
}
