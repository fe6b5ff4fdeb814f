package agent

import (
	"fmt"
	"strconv"

	"github.com/agentform/agentform/session"
)

// claudeTelemetry returns the variables with which Claude Code sends metrics and events
// (code.claude.com/docs/en/monitoring-usage). It has no prompts in them unless told to.
func claudeTelemetry(t session.Telemetry) map[string]string {
	if t.Endpoint == "" {
		return nil
	}
	env := map[string]string{
		"CLAUDE_CODE_ENABLE_TELEMETRY": "1", "OTEL_METRICS_EXPORTER": "otlp", "OTEL_LOGS_EXPORTER": "otlp",
		"OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf", "OTEL_EXPORTER_OTLP_ENDPOINT": t.Endpoint,
	}
	if t.Prompts {
		env["OTEL_LOG_USER_PROMPTS"] = "1"
	}
	return env
}

// codexTelemetry returns the settings with which Codex sends logs, traces and metrics
// (the [otel] table of its config.toml).
func codexTelemetry(t session.Telemetry) []string {
	if t.Endpoint == "" {
		return nil
	}
	args := []string{"-c", "otel.log_user_prompt=" + strconv.FormatBool(t.Prompts)}
	for _, e := range []struct{ setting, signal string }{{"exporter", "logs"}, {"trace_exporter", "traces"}, {"metrics_exporter", "metrics"}} {
		args = append(args, "-c", fmt.Sprintf(`otel.%s={otlp-http={endpoint=%s,protocol="binary"}}`, e.setting, tomlString(t.Signal(e.signal))))
	}
	return args
}

// geminiTelemetry returns the variables with which Gemini CLI sends all signals
// (geminicli.com/docs/cli/telemetry). Its prompts are in them unless told otherwise.
func geminiTelemetry(t session.Telemetry) map[string]string {
	if t.Endpoint == "" {
		return nil
	}
	return map[string]string{
		"GEMINI_TELEMETRY_ENABLED": "true", "GEMINI_TELEMETRY_TARGET": "local",
		"GEMINI_TELEMETRY_OTLP_ENDPOINT": t.Endpoint, "GEMINI_TELEMETRY_OTLP_PROTOCOL": "http",
		"GEMINI_TELEMETRY_LOG_PROMPTS": strconv.FormatBool(t.Prompts),
	}
}

// qwenTelemetry returns the variables with which Qwen Code sends metrics, and with prompts
// all signals: its logs contain the conversation even with LOG_PROMPTS=false.
func qwenTelemetry(t session.Telemetry) map[string]string {
	if t.Endpoint == "" {
		return nil
	}
	env := map[string]string{
		"QWEN_TELEMETRY_ENABLED": "true", "QWEN_TELEMETRY_TARGET": "local", "QWEN_TELEMETRY_OTLP_PROTOCOL": "http",
		"QWEN_TELEMETRY_LOG_PROMPTS": strconv.FormatBool(t.Prompts),
	}
	if t.Prompts {
		env["QWEN_TELEMETRY_OTLP_ENDPOINT"] = t.Endpoint
		return env
	}
	// Empty ones keep it from taking those of its settings and of OTEL_EXPORTER_OTLP_….
	for _, all := range []string{"", "_LOGS", "_TRACES"} {
		env["QWEN_TELEMETRY_OTLP"+all+"_ENDPOINT"] = ""
	}
	env["QWEN_TELEMETRY_OTLP_METRICS_ENDPOINT"] = t.Signal("metrics")
	return env
}
