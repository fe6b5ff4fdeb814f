agentform {
  telemetry {
    endpoint = "collector:4318"
    agents   = "some"
  }
  telemetry {
    prompts = true
  }
}
