session "api" {
  agent  = "claude"
  branch = "agents/api"
  workspace {
    path = "~nobody/x"
  }
}

session "web" {
  agent  = "claude"
  branch = "agents/web"
  workspace {
    path = "."
  }
}
