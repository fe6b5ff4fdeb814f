agent "a" {
  command = []
}

agent "b" {
  command = "mine --flag"
}

agent "c" {
  command     = ["mine"]
  permissions = "ask"
}

session "api" {
  agent  = "claude"
  branch = "agents/api"
  workspace {
    base  = "--upload-pack=x"
    setup = []
    repo  = "nowhere"
  }
  health {
    heartbeat {
    }
  }
}
