//go:build agents

package agenttest_test

import (
	"net/http/httptest"
	"slices"
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
	for name, service := range map[string]string{"claude": "claude-code", "codex": "codex", "gemini": "gemini", "qwen": "qwen-code"} {
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
					if name == "qwen" { // a person's own, which it takes for all signals
						env["OTEL_EXPORTER_OTLP_ENDPOINT"], env["OTEL_EXPORTER_OTLP_LOGS_ENDPOINT"] = server.URL, server.URL+"/v1/logs"
					}
					for name, value := range in.Spec.Agent.Env {
						env[name] = value
					}
					in.Spec.Agent.Env = env
				})
				said := func() string { return strings.Join(collector.Lines(), "\n") }
				run.Until("it is ready", func(agenttest.Look) bool { return run.Ready() })
				run.Type("go "+word+" [[text Done.]]", func(agenttest.Look) bool { return len(lab.Model.Turns()) > 0 })
				// All name the length of a prompt, whether they tell it or not. Without
				// prompts Qwen Code sends metrics alone.
				begins, has := "log "+service, "prompt_length="
				if name == "qwen" && !prompts {
					begins, has = "metric "+service, "api.request"
				}
				run.Until("the collector has been told of the prompt", func(agenttest.Look) bool {
					return slices.ContainsFunc(collector.Lines(), func(line string) bool {
						return strings.HasPrefix(line, begins) && strings.Contains(line, has)
					}) && (!prompts || strings.Contains(said(), word))
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
