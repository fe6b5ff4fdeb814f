// Package otlptest is a collector of OpenTelemetry for tests: it takes OTLP by HTTP, in
// protobuf or JSON, and has each span, metric and log record as one line.
package otlptest

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	collectedlogs "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	collectedmetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collectedtraces "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	resource "go.opentelemetry.io/proto/otlp/resource/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// Collector is an http.Handler. Its zero value is ready.
type Collector struct {
	// Told is called with each line, one at a time; nil: lines are only kept.
	Told func(line string)

	mu    sync.Mutex
	lines []string
}

// Lines returns what has come so far: the kind (span, metric, log), the resource's service,
// the name, and attributes NAME=VALUE, sorted.
func (c *Collector) Lines() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.lines)
}

func (c *Collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := c.take(r); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", r.Header.Get("Content-Type"))
	if strings.Contains(r.Header.Get("Content-Type"), "json") {
		_, _ = io.WriteString(w, "{}")
	}
}

func (c *Collector) take(r *http.Request) error {
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(body)
		if err != nil {
			return err
		}
		body = z
	}
	text, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	decode := proto.Unmarshal
	if strings.Contains(r.Header.Get("Content-Type"), "json") {
		decode = protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal
	}
	switch r.URL.Path {
	case "/v1/traces":
		var m collectedtraces.ExportTraceServiceRequest
		err = decode(text, &m)
		c.traces(&m)
	case "/v1/metrics":
		var m collectedmetrics.ExportMetricsServiceRequest
		err = decode(text, &m)
		c.metrics(&m)
	case "/v1/logs":
		var m collectedlogs.ExportLogsServiceRequest
		err = decode(text, &m)
		c.logs(&m)
	default:
		err = fmt.Errorf("no such signal: %s", r.URL.Path)
	}
	return err
}

func (c *Collector) traces(m *collectedtraces.ExportTraceServiceRequest) {
	for _, of := range m.ResourceSpans {
		for _, scope := range of.ScopeSpans {
			for _, s := range scope.Spans {
				name := s.Name
				if s.Status.GetCode().String() == "STATUS_CODE_ERROR" {
					name += " failed: " + s.Status.Message
				}
				for _, e := range s.Events {
					name += " +" + e.Name
				}
				c.add("span", of.Resource, name, s.Attributes)
			}
		}
	}
}

func (c *Collector) metrics(m *collectedmetrics.ExportMetricsServiceRequest) {
	for _, of := range m.ResourceMetrics {
		for _, scope := range of.ScopeMetrics {
			for _, x := range scope.Metrics {
				for _, p := range slices.Concat(x.GetGauge().GetDataPoints(), x.GetSum().GetDataPoints()) {
					value := fmt.Sprint(p.GetAsDouble())
					if _, whole := p.Value.(*metrics.NumberDataPoint_AsInt); whole {
						value = fmt.Sprint(p.GetAsInt())
					}
					c.add("metric", of.Resource, x.Name+" "+value, p.Attributes)
				}
				for _, p := range x.GetHistogram().GetDataPoints() {
					c.add("metric", of.Resource, fmt.Sprint(x.Name, " count ", p.Count), p.Attributes)
				}
			}
		}
	}
}

func (c *Collector) logs(m *collectedlogs.ExportLogsServiceRequest) {
	for _, of := range m.ResourceLogs {
		for _, scope := range of.ScopeLogs {
			for _, r := range scope.LogRecords {
				c.add("log", of.Resource, r.EventName+" "+shown(r.Body), r.Attributes)
			}
		}
	}
}

func (c *Collector) add(kind string, of *resource.Resource, name string, attributes []*common.KeyValue) {
	service, pairs := "", []string(nil)
	for _, a := range of.GetAttributes() {
		if a.Key == "service.name" {
			service = shown(a.Value)
		}
		if strings.HasPrefix(a.Key, "agentform.") {
			pairs = append(pairs, a.Key+"="+shown(a.Value))
		}
	}
	for _, a := range attributes {
		pairs = append(pairs, a.Key+"="+shown(a.Value))
	}
	slices.Sort(pairs)
	line := strings.Join(append([]string{kind, service, name}, pairs...), " ")
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lines = append(c.lines, line)
	if c.Told != nil {
		c.Told(line)
	}
}

func shown(v *common.AnyValue) string {
	switch x := v.GetValue().(type) {
	case *common.AnyValue_StringValue:
		return x.StringValue
	case nil:
		return ""
	default:
		return strings.TrimSpace(v.String())
	}
}
