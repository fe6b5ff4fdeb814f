package server

import (
	"slices"
	"time"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/internal/terminal"
	"github.com/agentform/agentform/session"
)

// join adds a viewer of a session whose window has that size.
func (t *terminals) join(v *viewer, size terminal.Size) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.rooms == nil {
		t.rooms = map[session.Address]*room{}
	}
	r := t.rooms[v.address]
	if r == nil {
		r = &room{}
		t.rooms[v.address] = r
	}
	if r.controller == nil {
		r.size = size
	}
	v.size = r.size
	r.viewers = append(r.viewers, v)
	r.changed()
}

// leave removes a viewer, and releases its control.
func (t *terminals) leave(v *viewer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.rooms[v.address]
	r.viewers = slices.DeleteFunc(r.viewers, func(o *viewer) bool { return o == v })
	if r.controller == v {
		r.controller, r.ruled = nil, time.Now()
	}
	if len(r.viewers) == 0 {
		delete(t.rooms, v.address)
	}
	r.changed()
}

func (r *room) changed() {
	for _, v := range r.viewers {
		select {
		case v.changed <- struct{}{}:
		default:
		}
	}
}

// control gives control to a viewer, or takes it away. It reports whether that changed it.
func (t *terminals) control(v *viewer, take bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.rooms[v.address]
	if (r.controller == v) == take {
		return false
	}
	r.controller, r.ruled = nil, time.Now()
	if take {
		r.controller, r.size = v, v.size
	}
	r.changed()
	return true
}

// resize records the size of a page. The window has it only if the page controls.
func (t *terminals) resize(v *viewer, size terminal.Size) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.rooms[v.address]
	if v.size = size; r.controller == v && r.size != size {
		r.size, r.ruled = size, time.Now()
		r.changed()
	}
}

// adopt records the size that a window has by itself.
func (t *terminals) adopt(a session.Address, size terminal.Size) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r := t.rooms[a]; r != nil && r.controller == nil && r.size != size {
		r.size = size
		r.changed()
	}
}

// rules reports whether the size of a window is that of a page, at an inspection.
func (t *terminals) rules(a session.Address, at time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.rooms[a]
	return r != nil && (r.controller != nil || !at.After(r.ruled))
}

func (t *terminals) controls(v *viewer) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.rooms[v.address].controller == v
}

func (t *terminals) sizeOf(a session.Address) terminal.Size {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.rooms[a].size
}

// stateOf returns what a viewer gets of its room.
func (t *terminals) stateOf(v *viewer) api.TerminalState {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.rooms[v.address]
	state := api.TerminalState{Type: "state", Cols: r.size.Cols, Rows: r.size.Rows, Viewers: len(r.viewers), ReadOnly: !v.operate, Control: "nobody"}
	switch r.controller {
	case nil:
	case v:
		state.Control, state.By = "you", v.by
	default:
		state.Control, state.By = "other", r.controller.by
	}
	return state
}
