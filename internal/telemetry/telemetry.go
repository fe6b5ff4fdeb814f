// Package telemetry sends a hub's telemetry to a collector of OpenTelemetry: the metrics of
// /metrics, and a trace of each look and of each change of a session. The standard OTEL_* variables
// configure it.
package telemetry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	bridge "go.opentelemetry.io/contrib/bridges/prometheus"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/session"
)

// Config is the input of Start.
type Config struct {
	Project string
	Version string // of agentform
	// Endpoint is a collector's address for OTLP by HTTP, which the environment overrides.
	Endpoint string
	// Getenv returns a variable of the process. The SDK reads those of the process itself.
	Getenv  func(name string) string
	Metrics prometheus.Gatherer
	Log     *slog.Logger
	// Client sends; nil: the SDK's, which the environment configures.
	Client *http.Client
}

// Sender sends telemetry. Its methods do not block, and may be called from any goroutine.
type Sender struct {
	tracer   trace.Tracer
	shutdown []func(context.Context) error

	mu   sync.Mutex
	open map[session.Address]trace.Span // of the changes in progress
}

// protocol is the only one that is linked; the one of gRPC would add megabytes.
const protocol = "http/protobuf"

// Start starts the sender; nil: there is no collector. Close ends it.
func Start(ctx context.Context, c Config) (*Sender, error) {
	traces, metrics := c.sends("TRACES"), c.sends("METRICS")
	if !traces && !metrics || strings.EqualFold(c.Getenv("OTEL_SDK_DISABLED"), "true") {
		return nil, nil
	}
	if p := c.Getenv("OTEL_EXPORTER_OTLP_PROTOCOL"); p != "" && p != protocol {
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL is %q, and only %s is supported", p, protocol)
	}
	// The first is overridden by OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES.
	of, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", "agentform"),
		attribute.String("service.version", c.Version), attribute.String("agentform.project", c.Project)),
		resource.WithHost(), resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, err
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { c.Log.Warn("telemetry was not sent", "error", err) }))
	s := &Sender{tracer: noop.NewTracerProvider().Tracer(""), open: map[session.Address]trace.Span{}}
	if traces {
		to, err := otlptracehttp.New(ctx, c.tracesTo()...)
		if err != nil {
			return nil, err
		}
		p := sdk.NewTracerProvider(sdk.WithBatcher(to), sdk.WithResource(of))
		s.tracer, s.shutdown = p.Tracer("github.com/agentform/agentform"), append(s.shutdown, p.Shutdown)
	}
	if metrics {
		to, err := otlpmetrichttp.New(ctx, c.metricsTo()...)
		if err != nil {
			return nil, errors.Join(err, s.Close(ctx))
		}
		from := bridge.NewMetricProducer(bridge.WithGatherer(c.Metrics))
		p := metric.NewMeterProvider(metric.WithReader(metric.NewPeriodicReader(to, metric.WithProducer(from))), metric.WithResource(of))
		s.shutdown = append(s.shutdown, p.Shutdown)
	}
	return s, nil
}

// sends reports whether a signal is sent, TRACES or METRICS.
func (c Config) sends(signal string) bool {
	return c.Getenv("OTEL_"+signal+"_EXPORTER") != "none" && cmp.Or(c.told(signal), c.Endpoint) != ""
}

// told returns the address for a signal in the environment; empty: none.
func (c Config) told(signal string) string {
	return cmp.Or(c.Getenv("OTEL_EXPORTER_OTLP_"+signal+"_ENDPOINT"), c.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT"))
}

func (c Config) tracesTo() (options []otlptracehttp.Option) {
	if c.told("TRACES") == "" { // else the SDK reads it
		options = append(options, otlptracehttp.WithEndpointURL(session.Telemetry{Endpoint: c.Endpoint}.Signal("traces")))
	}
	if c.Client != nil {
		options = append(options, otlptracehttp.WithHTTPClient(c.Client))
	}
	return options
}

func (c Config) metricsTo() (options []otlpmetrichttp.Option) {
	if c.told("METRICS") == "" {
		options = append(options, otlpmetrichttp.WithEndpointURL(session.Telemetry{Endpoint: c.Endpoint}.Signal("metrics")))
	}
	if c.Client != nil {
		options = append(options, otlpmetrichttp.WithHTTPClient(c.Client))
	}
	return options
}

// Looked sends that the hub has inspected all sessions.
func (s *Sender) Looked(took time.Duration) {
	_, span := s.tracer.Start(context.Background(), "look", trace.WithTimestamp(time.Now().Add(-took)))
	span.End()
}

// Changed sends a change of a session when it ends. What happens meanwhile becomes events of
// its span.
func (s *Sender) Changed(e history.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	span := s.open[e.Address]
	switch e.Kind {
	case history.ApplyStart:
		s.open[e.Address] = s.begin(e, e.Time)
	case history.ApplyComplete, history.ApplyErrored:
		if span == nil { // it failed before it began
			span = s.begin(e, e.Time.Add(-e.Elapsed.D()))
		}
		if e.Kind == history.ApplyErrored {
			span.SetStatus(codes.Error, e.Detail)
		}
		span.End(trace.WithTimestamp(e.Time))
		delete(s.open, e.Address)
	default:
		if span != nil {
			span.AddEvent(string(e.Kind), trace.WithTimestamp(e.Time), trace.WithAttributes(attribute.String("agentform.run", e.Run)))
		}
	}
}

// begin starts the span of a change.
func (s *Sender) begin(e history.Event, at time.Time) trace.Span {
	attributes := []attribute.KeyValue{attribute.String("agentform.session", string(e.Address))}
	for key, value := range map[string]string{"id": e.ID, "reason": e.Reason, "by": e.By} {
		if value != "" {
			attributes = append(attributes, attribute.String("agentform."+key, value))
		}
	}
	_, span := s.tracer.Start(context.Background(), cmp.Or(e.Action, "change"), trace.WithTimestamp(at), trace.WithAttributes(attributes...))
	return span
}

// Close sends what is left until ctx ends.
func (s *Sender) Close(ctx context.Context) error {
	var all error
	for _, end := range s.shutdown {
		all = errors.Join(all, end(ctx))
	}
	return all
}
