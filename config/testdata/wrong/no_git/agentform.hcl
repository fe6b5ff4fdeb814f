session "api" {
  agent  = "claude"
  branch = "agents/api"
}

session "here" {
  agent  = "claude"
  branch = "main"
  workspace {
    mode = "in_place"
    repo = "sub"
  }
}
