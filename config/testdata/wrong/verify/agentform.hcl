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
  verify {
    command = ["make", "test"]
  }
}

session "build" {
  agent  = agent.build
  branch = "build"
  verify {
    command = ["make", "test"]
  }
}

session "wrong" {
  agent  = "claude"
  branch = "wrong"
  verify {
    command    = []
    timeout    = "0s"
    on_failure = "shout"
    rounds     = 0
    protect    = ["tests/**", "/etc/*", "../x", "a[", "b/", ".", ".."]
  }
}

session "slow" {
  agent  = "claude"
  branch = "slow"
  verify {
    command = ["make", "test"]
    timeout = "72h"
  }
}

session "unverified" {
  agent  = "claude"
  branch = "unverified"
  finish = "verified"
}

session "turn" {
  agent  = "claude"
  branch = "turn"
  finish = "turn"
  verify {
    command = ["make", "test"]
  }
}

session "waits" {
  agent      = "claude"
  branch     = "waits"
  depends_on = [{ session = session.talks, until = "verified" }]
}

session "talks" {
  agent  = "claude"
  branch = "talks"
}

session "empty" {
  agent  = "claude"
  branch = "empty"
  verify {}
}

session "others" {
  agent  = "claude"
  branch = "main"
  workspace {
    mode = "in_place"
  }
  verify {
    command = ["make", "test"]
    commit  = true
  }
}
