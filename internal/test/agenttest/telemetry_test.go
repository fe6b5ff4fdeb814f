//go:build agents

package agenttest_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/agentform/agentform/internal/test/agenttest"
	"github.com/agentform/agentform/internal/test/otlptest"
	"github.com/agentform/agentform/session"
)

// Each agent sends its own telemetry to the collector of a spec, and prompts only if the
// spec says so.
func TestTelemetry(t *testing.T) {
	t.Parallel()
	for name, service := range map[string]string{"claude": "claude-code", "codex": "codex", "gemini": "gemini"} {
		for prompts, way := range map[bool]string{false: "silent", true: "prompts"} {
			t.Run(name+"/"+way, func(t *testing.T) {
				t.Parallel()
				collector := &otlptest.Collector{}
				server := httptest.NewServer(collector)
				t.Cleanup(server.Close)
				lab := agenttest.New(t, name)
				const word = "kohlrabi" // of the prompt alone
				run := lab.Start("", work, func(in *session.StartInput) {
					in.Spec.Telemetry = session.Telemetry{Endpoint: server.URL, Prompts: prompts}
					env := map[string]string{"OTEL_METRIC_EXPORT_INTERVAL": "500", "OTEL_LOGS_EXPORT_INTERVAL": "500"}
					for name, value := range in.Spec.Agent.Env {
						env[name] = value
					}
					in.Spec.Agent.Env = env
				})
				said := func() string { return strings.Join(collector.Lines(), "\n") }
				run.Until("it is ready", func(agenttest.Look) bool { return run.Ready() })
				run.Type("go "+word+" [[text Done.]]", func(agenttest.Look) bool { return len(lab.Model.Turns()) > 0 })
				run.Until("the collector has logs of it", func(agenttest.Look) bool {
					for _, line := range collector.Lines() {
						if strings.HasPrefix(line, "log "+service) && (!prompts || strings.Contains(line, word)) {
							return true
						}
					}
					return false
				})
				run.Close()
				lab.UntilNone()
				if !prompts && strings.Contains(said(), word) {
					t.Errorf("the prompt was sent:\n%s", said())
				}
				t.Log(said())
			})
		}
	}
}
