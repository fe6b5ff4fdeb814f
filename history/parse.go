package history

import (
	"bytes"
	"encoding/json"

	"github.com/agentform/agentform/session"
)

// parse parses one line. Every event has a kind.
func parse(line []byte) (e Event, ok bool) {
	if len(line) == 0 || line[0] != '{' { // cheap
		return e, false
	}
	if e, ok = parsePlain(line); ok {
		return e, true
	}
	e = Event{}
	return e, json.Unmarshal(line, &e) == nil && e.Kind != ""
}

// parsePlain parses a line as Append writes most of them: of a JSON object whose values are
// texts of ASCII characters without escapes. It is several times faster than encoding/json,
// and returns false for all that it does not know.
func parsePlain(line []byte) (e Event, ok bool) {
	rest, ok := bytes.CutPrefix(line, []byte(`{"`))
	for ok {
		var key, value []byte
		if key, rest, ok = bytes.Cut(rest, []byte(`":"`)); !ok {
			return e, false
		}
		end := bytes.IndexByte(rest, '"')
		if end < 0 {
			return e, false
		}
		value, rest = rest[:end], rest[end+1:]
		if !plain(value) || !e.set(key, value) {
			return e, false
		}
		rest, ok = bytes.CutPrefix(rest, []byte(`,"`))
	}
	return e, e.Kind != "" && string(bytes.TrimSuffix(rest, []byte("\n"))) == "}"
}

// plain reports whether a text in JSON is what it means.
func plain(text []byte) bool {
	for _, c := range text {
		if c < ' ' || c >= 0x80 || c == '\\' {
			return false
		}
	}
	return true
}

// set sets a member. It returns false for one that it does not know, or that is not a text.
func (e *Event) set(key, value []byte) bool {
	switch string(key) {
	case "time":
		return e.Time.UnmarshalText(value) == nil
	case "address":
		e.Address = session.Address(value)
	case "id":
		e.ID = string(value)
	case "run":
		e.Run = string(value)
	case "type":
		e.Kind = Kind(value)
	case "action":
		e.Action = string(value)
	case "reason":
		e.Reason = string(value)
	case "by":
		e.By = string(value)
	case "old":
		e.Old = string(value)
	case "new":
		e.New = string(value)
	case "detail":
		e.Detail = string(value)
	default:
		return false
	}
	return true
}
