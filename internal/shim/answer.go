package shim

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// answer answers one request of the protocol, a JSON line.
func (g *guest) answer(line []byte) any {
	var r request
	if err := json.Unmarshal(line, &r); err != nil {
		return refuse(CodeInvalid, "the request is not a JSON object as it should be")
	}
	return g.do(r)
}

// do carries out one request of the protocol.
func (g *guest) do(r request) reply {
	switch r.Op {
	case opHello:
		return reply{OK: true, Hello: &Hello{Protocol: ProtocolVersion, Run: g.config.Run, Guest: g.self}}
	case opStatus:
		return reply{OK: true, Status: g.report()}
	case opPause:
		if err := g.freeze(); err != nil {
			e, _ := errors.AsType[*Error](err)
			return reply{Error: e}
		}
		return reply{OK: true}
	case opResume:
		if g.ending() {
			return refuse(CodeEnding, "the run is being ended")
		}
		g.thaw()
		return reply{OK: true}
	case opSet:
		return g.set(r.Settings)
	case opStop:
		return g.stop(r.Settings)
	case opProbe:
		return g.probe(r.Probe)
	case opUnread:
		n, err := unread()
		if err != nil {
			return refuse(CodeUnsupported, "the terminal does not tell: "+err.Error())
		}
		return reply{OK: true, Unread: &n}
	case opRestart:
		return refuse(CodeUnsupported, "this guest does not support "+r.Op)
	}
	return refuse(CodeUnsupported, fmt.Sprintf("this guest does not know %.40q", r.Op))
}

func (g *guest) report() *Status {
	g.mu.Lock()
	defer g.mu.Unlock()
	sig, _ := stopSignal(g.config.Signal)
	return &Status{
		Agent: g.agent, StartedAt: g.began.UTC(), Ran: g.ran(), Frozen: g.frozen, Ending: g.cause,
		Timeout: g.config.Timeout, Signal: signalName(sig), Grace: g.config.Grace,
	}
}

// set changes all that is given, or nothing.
func (g *guest) set(s Settings) reply {
	if s.Signal != nil {
		if _, err := stopSignal(*s.Signal); err != nil {
			return refuse(CodeInvalid, err.Error())
		}
	}
	if s.Timeout != nil && *s.Timeout < 0 || s.Grace != nil && *s.Grace < 0 {
		return refuse(CodeInvalid, "a duration is negative")
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if s.Signal != nil {
		g.config.Signal = *s.Signal
	}
	if s.Timeout != nil {
		g.config.Timeout = *s.Timeout
	}
	if s.Grace != nil {
		g.config.Grace = *s.Grace
	}
	poke(g.changed)
	return reply{OK: true}
}

// stop ends the run and answers when it is over. What the request does not say
// is as configured.
func (g *guest) stop(s Settings) reply {
	g.mu.Lock()
	name, grace := g.config.Signal, g.config.Grace
	g.mu.Unlock()
	if s.Signal != nil {
		name = *s.Signal
	}
	if s.Grace != nil {
		grace = max(0, *s.Grace)
	}
	sig, err := stopSignal(name)
	if err != nil {
		return refuse(CodeInvalid, err.Error())
	}
	g.end(CauseRequested, sig, grace)
	select {
	case <-g.done:
		return reply{OK: true, Exit: &g.exit}
	case <-time.After(grace + killTimeout):
		return refuse(CodeFailed, fmt.Sprintf("%d processes outlive SIGKILL", len(descendants(g.self.PID))))
	}
}
