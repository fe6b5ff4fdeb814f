agent "mine" {
  command = ["mine"]
  env     = { TMUX = "1", "A=B" = "2", GOOD = "3", AGENTFORM_RUN = "4" }
}

session "api" {
  agent   = agent.mine
  branch  = "agents/api"
  env     = { "" = "1", TMUX_PANE = "%1" }
  secrets = ["a-b", "GOOD", "c d"]
}
