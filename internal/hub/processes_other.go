//go:build !linux

package hub

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/agentform/agentform/internal/proc"
	"github.com/agentform/agentform/internal/sleep"
	"github.com/agentform/agentform/session"
)

const pollProcesses = 500 * time.Millisecond

// Processes wakes the hub when an agent's process exits.
type Processes struct {
	mu     sync.Mutex
	wanted []session.Process
}

func (p *Processes) Watch(w Watched) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wanted = slices.Clone(w.Agents)
}

func (p *Processes) Run(ctx context.Context, wake func()) error {
	for sleep.For(ctx, pollProcesses) {
		if p.gone() {
			wake()
		}
	}
	return nil
}

func (p *Processes) gone() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := len(p.wanted)
	p.wanted = slices.DeleteFunc(p.wanted, func(x session.Process) bool { return !(proc.Process{PID: x.PID, Start: x.Start}).Alive() })
	return len(p.wanted) < before
}
