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

// document is what a backend stores: the text of a state, with what else a decision needs.
type document struct {
	state.State
	extras
}

// extras are the members of the JSON object besides those of the state.
type extras struct {
	Prompts  map[string]string          `json:"prompts,omitempty"`  // by digest
	Restarts map[string][]health.Moment `json:"restarts,omitempty"` // by the session's id
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

func decode(text []byte) (d document, err error) {
	if sealed.Is(text) {
		return d, errEncrypted
	}
	if d.State, err = state.Decode(text); err != nil {
		return d, err
	}
	return d, json.Unmarshal(text, &d.extras)
}
