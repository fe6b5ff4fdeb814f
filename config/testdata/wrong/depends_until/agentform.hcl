agent "build" {
  command  = ["make"]
  one_shot = true
}

session "talks" {
  agent  = "claude"
  branch = "talks"
}

session "build" {
  agent  = agent.build
  branch = "build"
}

session "wrong" {
  agent  = "claude"
  branch = "wrong"
  depends_on = [
    { session = session.talks, until = "trun" },
    { session = session.talks, until = 3 },
    { session = session.build, until = "turn" },
    { session = session.talks, until = "done" },
    { session = session.tlaks, until = "turn" },
    { sesion = session.talks },
    { until = "turn" },
  ]
}
