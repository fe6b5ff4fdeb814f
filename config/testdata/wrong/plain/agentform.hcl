session "api" {
  agent  = "claude"
  branch = "agents/api"
  workspace {
    mode = "plain"
    base = "main"
    repo = "."
  }
}
