agent "reviewer" {
  base = "claud"
}

agent "codex" {
  base = "claude"
}

agent "custom" {
}

session "a" {
  agent  = "reviwer"
  branch = "a"
}

session "b" {
  agent  = agent.reviwer
  branch = "b"
}

session "c" {
  agent  = agent.reviewer
  branch = "c"
}

session "d" {
  agent  = "aider"
  branch = "d"
}
