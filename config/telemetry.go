package config

import (
	"net/url"

	"github.com/agentform/agentform/config/expr"
	"github.com/agentform/agentform/session"
)

// Telemetry is a telemetry block.
type Telemetry struct {
	Endpoint string // of an OTLP collector by HTTP, without the path of a signal
	Agents   bool   // the agents send theirs, too
	Prompts  bool   // with the text of prompts
}

// ofAgents returns what a session's agent sends.
func (t *Telemetry) ofAgents() session.Telemetry {
	if t == nil || !t.Agents {
		return session.Telemetry{}
	}
	return session.Telemetry{Endpoint: t.Endpoint, Prompts: t.Prompts}
}

// readTelemetry returns the telemetry of the settings; nil: there is none.
func readTelemetry(l *loader, settings *expr.Block) *Telemetry {
	if len(settings.Blocks["telemetry"]) == 0 {
		return nil
	}
	b := settings.Blocks["telemetry"][0]
	l.checkAll(b, inProject)
	d, t := l.reader(l.ctx), &Telemetry{}
	if d.Word(b, "endpoint", &t.Endpoint) {
		if u, err := url.Parse(t.Endpoint); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			d.Fail(b.Attr("endpoint"), "Invalid endpoint", "%q is not the address of a collector, use http://HOST:4318.", expr.Cut(t.Endpoint))
		}
	}
	d.Require(b, "endpoint", `the collector's address, like endpoint = "http://127.0.0.1:4318"`)
	d.Flag(b, "agents", &t.Agents)
	d.Flag(b, "prompts", &t.Prompts)
	return t
}
