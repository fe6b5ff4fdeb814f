package server

import (
	"net/http"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/internal/usage"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

// Metrics are the metrics of /metrics.
type Metrics struct {
	registry  *prometheus.Registry
	looks     prometheus.Histogram
	requests  *prometheus.CounterVec
	listeners prometheus.Gauge
}

// NewMetrics returns the metrics of a hub's process. version is that of agentform.
func NewMetrics(version string) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		looks: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "agentform_look_duration_seconds",
			Help: "Duration of the hub's inspections of all sessions.", Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}}),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "agentform_api_requests_total",
			Help: "Requests served, by route."}, []string{"operation", "status"}),
		listeners: prometheus.NewGauge(prometheus.GaugeOpts{Name: "agentform_api_event_streams", Help: "Open event streams."}),
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{Name: "agentform_build_info", Help: "Version of agentform; always 1.",
		ConstLabels: prometheus.Labels{"version": version, "go": runtime.Version()}})
	build.Set(1)
	m.registry.MustRegister(m.looks, m.requests, m.listeners, build,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func (m *Metrics) Looked(took time.Duration) { m.looks.Observe(took.Seconds()) }

// sessions collects metrics from the last snapshot.
type sessions struct {
	hub     Hub
	usage   *usage.Store
	project string
}

func described(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("agentform_"+name, help, labels, nil)
}

// Describe sends nothing: the metrics depend on the sessions.
func (c sessions) Describe(chan<- *prometheus.Desc) {}

func (c sessions) Collect(to chan<- prometheus.Metric) {
	s := c.hub.Snapshot()
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	states, activities, holds, healths := map[string]float64{}, map[string]float64{}, map[string]float64{}, map[string]float64{}
	restarts := described("session_restarts_total", "Number of restarts of the session.", "session")
	c.collectUsage(to, s.Records())
	for _, k := range s.Sessions {
		x := status.Of(k)
		states[string(x.State)]++
		activities[string(x.Activity)]++
		healths[x.Health]++
		to <- prometheus.MustNewConstMetric(restarts, prometheus.CounterValue, float64(x.Restarts), plaintext.Safe(string(x.Address)))
	}
	for _, change := range s.Plan.Changes {
		if change.Action == plan.Hold {
			holds[string(change.Reason)]++
		}
	}
	all := func(name, help, label string, counts map[string]float64) {
		for word, n := range counts {
			gauge(described(name, help, label), n, word)
		}
	}
	all("sessions", "Sessions in the state, by state.", "state", states)
	all("sessions_activity", "Sessions in the state, by activity.", "activity", activities)
	all("sessions_health", "Sessions in the state, by health.", "health", healths)
	all("holds", "Held operations of the hub, by reason.", "reason", holds)
	gauge(described("project_info", "Project of the hub; always 1.", "project"), 1, c.project)
	gauge(described("last_look_timestamp_seconds", "Time of the hub's last inspection."), float64(s.At.UnixMilli())/1000)
	readOnly := 0.0
	if s.Fault != nil {
		readOnly = 1
	}
	gauge(described("read_only", "1 if the state cannot be read and the hub only observes."), readOnly)
}

// collectUsage sends what the sessions used since the first of them, also those that were
// removed.
func (c sessions) collectUsage(to chan<- prometheus.Metric, records []session.Record) {
	all, err := c.usage.All()
	if err != nil {
		return // the hub logs it when it reads the usage of a session
	}
	status.CurrentAddresses(all, records)
	tokens := described("tokens_total", "Tokens that models took for the session, by kind; reasoning is a part of output.", "session", "agent", "model", "kind")
	cost := described("cost_total", "List price in USD of the tokens of models that have a price.", "session", "agent", "model")
	unpriced := described("unpriced_tokens_total", "Tokens of models without a price.", "session", "agent", "model")
	type label struct{ session, agent, model string }
	sums := map[label]usage.Sum{}
	for _, s := range all {
		for slice, sum := range s.Slices {
			if !sum.Any() {
				continue
			}
			l := label{plaintext.Safe(string(s.Address)), plaintext.Safe(slice.Agent), plaintext.Safe(slice.Model)}
			sums[l] = sums[l].Plus(sum)
		}
	}
	for l, sum := range sums {
		count := func(d *prometheus.Desc, v float64, labels ...string) {
			to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, append([]string{l.session, l.agent, l.model}, labels...)...)
		}
		t := sum.Tokens
		for kind, n := range map[string]int64{"input": t.Input, "cache_read": t.CacheRead, "cache_write": t.CacheWrite,
			"cache_write_1h": t.CacheWrite1h, "output": t.Output, "reasoning": t.Reasoning} {
			count(tokens, float64(n), kind)
		}
		count(cost, sum.Cost)
		count(unpriced, float64(sum.Unpriced))
	}
}

// Of returns what /metrics shows of a hub.
func (m *Metrics) Of(h Hub, u *usage.Store, project string) prometheus.Gatherer {
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(sessions{h, u, project})
	return prometheus.Gatherers{m.registry, registry}
}

func (s *Server) getMetrics(w http.ResponseWriter, r *http.Request) error {
	all := s.cfg.Metrics.Of(s.cfg.Hub, s.cfg.Usage, s.cfg.Project)
	promhttp.HandlerFor(all, promhttp.HandlerOpts{}).ServeHTTP(w, r)
	return nil
}
