package program

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/agentform/agentform/internal/proc"
	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/internal/shim/rundir"
)

// answer answers one request, a JSON line.
func (r *run) answer(line []byte) (any, *shim.Hold) {
	var q shim.Request
	if err := json.Unmarshal(line, &q); err != nil {
		return shim.Refuse(shim.CodeInvalid, "the request is not a valid JSON object"), nil
	}
	return r.do(q), nil
}

// do executes one request.
func (r *run) do(q shim.Request) shim.Reply {
	switch q.Op {
	case shim.OpHello:
		return shim.Reply{OK: true, Hello: &shim.Hello{Protocol: rundir.Version, Run: r.config.Run, Shim: r.self}}
	case shim.OpStatus:
		return shim.Reply{OK: true, Status: r.report()}
	case shim.OpPause:
		if err := r.freeze(); err != nil {
			e, _ := errors.AsType[*shim.Error](err)
			return shim.Reply{Error: e}
		}
		return shim.Reply{OK: true}
	case shim.OpResume:
		if r.ending() {
			return shim.Refuse(shim.CodeEnding, "the run is being stopped")
		}
		r.thaw()
		return shim.Reply{OK: true}
	case shim.OpSet:
		return r.set(q.Settings)
	case shim.OpStop:
		return r.stop(q.Settings)
	case shim.OpProbe:
		return r.probe(q.Probe)
	case shim.OpVerify:
		return verify(r, q.Probe)
	case shim.OpUnread:
		n, err := unread()
		if err != nil {
			return shim.Refuse(shim.CodeUnsupported, "the terminal does not report it: "+err.Error())
		}
		return shim.Reply{OK: true, Unread: &n}
	case shim.OpRestart:
		return shim.Refuse(shim.CodeUnsupported, "this shim does not support "+q.Op)
	}
	return shim.Refuse(shim.CodeUnsupported, fmt.Sprintf("this shim does not know %.40q", q.Op))
}

func (r *run) report() *shim.Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	sig, _ := proc.ParseSignal(r.config.Signal)
	return &shim.Status{
		Agent: r.agent, StartedAt: r.began.UTC(), Ran: r.ran(), Frozen: r.frozen, Ending: r.cause,
		Timeout: r.config.Timeout, Signal: proc.SignalName(sig), Grace: r.config.Grace,
	}
}

// set applies all of the settings, or none.
func (r *run) set(s shim.Settings) shim.Reply {
	if s.Signal != nil {
		if _, err := proc.ParseSignal(*s.Signal); err != nil {
			return shim.Refuse(shim.CodeInvalid, err.Error())
		}
	}
	if s.Timeout != nil && *s.Timeout < 0 || s.Grace != nil && *s.Grace < 0 {
		return shim.Refuse(shim.CodeInvalid, "a duration is negative")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.Signal != nil {
		r.config.Signal = *s.Signal
	}
	if s.Timeout != nil {
		r.config.Timeout = *s.Timeout
	}
	if s.Grace != nil {
		r.config.Grace = *s.Grace
	}
	poke(r.changed)
	return shim.Reply{OK: true}
}

// stop ends the run and replies when it has ended. What the request omits is as configured.
func (r *run) stop(s shim.Settings) shim.Reply {
	r.mu.Lock()
	name, grace := r.config.Signal, r.config.Grace
	r.mu.Unlock()
	if s.Signal != nil {
		name = *s.Signal
	}
	if s.Grace != nil {
		grace = max(0, *s.Grace)
	}
	sig, err := proc.ParseSignal(name)
	if err != nil {
		return shim.Refuse(shim.CodeInvalid, err.Error())
	}
	r.end(rundir.CauseRequested, sig, grace)
	select {
	case <-r.done:
		return shim.Reply{OK: true, Exit: &r.exit}
	case <-time.After(grace + proc.KillTimeout):
		return shim.Refuse(shim.CodeFailed, fmt.Sprintf("%d processes outlive SIGKILL", len(proc.Descendants(r.self.PID))))
	}
}
