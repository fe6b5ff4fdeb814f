session "api" {
  agent  = "claude"
  brnch  = "agents/api"
  mode   = "plain"
  workspace {
    brnach = "x"
  }
}

agentform {
  paralelism = 3
}
