session "api" {
  agent  = "claude"
  branch = "agents/api"
  workspace {
    path = "../wt"
  }
}

session "web" {
  agent  = "claude"
  branch = "agents/web"
  workspace {
    path = "../other/../wt"
  }
}
