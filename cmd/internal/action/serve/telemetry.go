package serve

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/hub"
	"github.com/agentform/agentform/internal/telemetry"
)

// telemetryEnd bounds the wait for a collector at the end of a hub.
const telemetryEnd = 5 * time.Second

// sending passes a hub's events to its telemetry sender, which starts after the hub because it
// sends the hub's state.
type sending struct {
	to atomic.Pointer[telemetry.Sender]
}

// follow adds the sender to a hub's callbacks.
func (s *sending) follow(c *hub.Config) {
	looked := c.Looked
	c.Looked = func(took time.Duration) {
		looked(took)
		if to := s.to.Load(); to != nil {
			to.Looked(took)
		}
	}
	c.Changed = func(e history.Event) {
		if to := s.to.Load(); to != nil {
			to.Changed(e)
		}
	}
}

// start starts the sender if the environment or the manifest has a collector. end sends what is
// left. The hub also works without it.
func (s *sending) start(ctx context.Context, in Input, metrics prometheus.Gatherer) (end func()) {
	p, log := in.Project, in.Log
	c := telemetry.Config{Project: p.Manifest.Project, Version: in.Version, Getenv: p.Environ.Get, Metrics: metrics, Log: log}
	if t := p.Manifest.Telemetry; t != nil {
		c.Endpoint = t.Endpoint
	}
	to, err := telemetry.Start(ctx, c)
	if err != nil {
		log.Warn("telemetry is not sent", "error", err)
	}
	if to == nil {
		return func() {}
	}
	s.to.Store(to)
	return func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), telemetryEnd)
		defer cancel()
		if err := to.Close(ctx); err != nil {
			log.Warn("the last telemetry was not sent", "error", err)
		}
	}
}
