session "api" {
  agent  = "claude"
  branch = "api"
  agent  = "codex"
  rolle  = "builder"
}

session "web" {
  agent  = "claud"
  branch = "web"
}
