session "api" {
  agent  = "claude"
  brnch  = "agents/api"
  mode   = "plain"
  trust  = true
  workspace {
    brnach = "x"
  }
}

agentform {
  paralelism = 3
}

agent "own" {
  command = ["own"]
  branch  = "agents/api"
}
