package telemetry_test

import (
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/telemetry"
	"github.com/agentform/agentform/internal/test/otlptest"
	"github.com/agentform/agentform/internal/test/pipe"
	"github.com/agentform/agentform/session"
)

// config is one whose environment has these variables.
func config(t *testing.T, environ ...string) telemetry.Config {
	registry := prometheus.NewRegistry()
	looks := prometheus.NewCounter(prometheus.CounterOpts{Name: "looks_total"})
	looks.Add(3)
	registry.MustRegister(looks)
	values := map[string]string{}
	for _, v := range environ {
		name, value, _ := strings.Cut(v, "=")
		values[name] = value
		t.Setenv(name, value) // the SDK reads those of the process
	}
	return telemetry.Config{Project: "shop", Version: "1.2.3", Getenv: func(name string) string { return values[name] },
		Metrics: registry, Log: slog.New(slog.NewTextHandler(t.Output(), nil))}
}

func TestSends(t *testing.T) {
	collector := &otlptest.Collector{}
	server := pipe.Serve(t, collector)
	for _, way := range []string{"manifest", "environment", "one signal each"} {
		t.Run(way, func(t *testing.T) {
			before := len(collector.Lines())
			var c telemetry.Config
			switch way {
			case "manifest":
				c = config(t)
				c.Endpoint = server.URL
			case "environment":
				c = config(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+server.URL, "OTEL_SERVICE_NAME=fleet")
				c.Endpoint = "http://127.0.0.1:1" // the environment comes first
			default:
				c = config(t, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT="+server.URL+"/v1/traces", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT="+server.URL+"/v1/metrics")
			}
			c.Client = server.Client()
			s, err := telemetry.Start(t.Context(), c)
			if err != nil || s == nil {
				t.Fatalf("start: %v, %v", s, err)
			}
			at := time.Now()
			event := func(kind history.Kind, address session.Address, more ...string) {
				e := history.Event{Time: at, Kind: kind, Address: address, ID: "api-1", Run: "r1", Action: "restart", By: history.ByHub}
				if len(more) > 0 {
					e.Detail = more[0]
				}
				s.Changed(e)
			}
			s.Looked(time.Second)
			event(history.ApplyStart, "session.api")
			event(history.ApplyStart, "session.db")
			event(history.Launched, "session.api")
			event(history.ApplyErrored, "session.db", "no such branch")
			event(history.ApplyComplete, "session.api")
			event(history.ApplyErrored, "session.late", "there is no tmux")
			event(history.Sent, "session.api") // belongs to no change
			if err := s.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			service := "agentform"
			if way == "environment" {
				service = "fleet"
			}
			lines := collector.Lines()[before:]
			attributes := func(address string) string {
				return " agentform.by=hub agentform.id=api-1 agentform.project=shop agentform.session=" + address
			}
			for _, want := range []string{
				"span " + service + " look agentform.project=shop",
				"span " + service + " restart +launched" + attributes("session.api"),
				"span " + service + " restart failed: no such branch" + attributes("session.db"),
				"span " + service + " restart failed: there is no tmux" + attributes("session.late"),
				"metric " + service + " looks_total 3 agentform.project=shop",
			} {
				if !slices.Contains(lines, want) {
					t.Errorf("missing %q in\n%s", want, strings.Join(lines, "\n"))
				}
			}
		})
	}
}

func TestSendsNothing(t *testing.T) {
	for name, environ := range map[string][]string{
		"by default": {},
		"disabled":   {"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1", "OTEL_SDK_DISABLED=true"},
		"no signal":  {"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1", "OTEL_TRACES_EXPORTER=none", "OTEL_METRICS_EXPORTER=none"},
	} {
		t.Run(name, func(t *testing.T) {
			if s, err := telemetry.Start(t.Context(), config(t, environ...)); s != nil || err != nil {
				t.Errorf("%v, %v", s, err)
			}
		})
	}
	_, err := telemetry.Start(t.Context(), config(t, "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_PROTOCOL=grpc"))
	if err == nil || !strings.Contains(err.Error(), "only http/protobuf is supported") {
		t.Errorf("gRPC: %v", err)
	}
}
