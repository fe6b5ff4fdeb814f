agent "mine" {
  command = ["mine"]
}

session "a" {
  agent  = agent.mine
  branch = "a"
  conversation {
    id = "0b1c"
  }
}

session "b" {
  agent  = "claude"
  branch = "b"
  conversation {
    id = "--dangerous"
  }
}

session "d" {
  agent  = "claude"
  branch = "d"
  conversation {
    id = "two words"
  }
}
