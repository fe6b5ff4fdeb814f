agent "build" {
  command  = ["make"]
  one_shot = true
}

session "plain" {
  agent = "claude"
  workspace {
    mode = "plain"
    path = "here"
  }
  pr {}
}

session "build" {
  agent  = agent.build
  branch = "build"
  pr {}
}

session "wrong" {
  agent  = "claude"
  branch = "wrong"
  pr {
    checks  = "hold"
    reviews = "shout"
    rounds  = 0
    from    = ["OWNER", "members"]
  }
}

session "nobody" {
  agent  = "claude"
  branch = "nobody"
  pr {
    from = []
  }
}
