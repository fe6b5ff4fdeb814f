session "api" {
  agent  = "claude"
  branch = "api"
  agent  = "codex"
}
