agentform {
  telemetry {
    endpoint = "https://collector.example.com"
    agents   = true
    prompts  = true
  }
}

session "api" {
  agent  = "claude"
  branch = "agents/api"
}
