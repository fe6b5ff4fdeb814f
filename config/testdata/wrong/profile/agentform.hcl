session "api" {
  agent   = "claude"
  branch  = "agents/api"
  profile = "work"
}

session "web" {
  agent   = "codex"
  branch  = "agents/web"
  profile = "work"
}
