session "api" {
  agent  = "claude"
  branch = "agents/api"
}
