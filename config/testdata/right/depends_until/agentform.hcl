agent "build" {
  command  = ["make"]
  one_shot = true
}

session "talks" {
  agent  = "claude"
  branch = "talks"
}

session "build" {
  for_each = toset(["x", "y"])
  agent    = agent.build
  branch   = "build-${each.key}"
}

# An interactive agent has to be ready, a one-shot one to be done.
session "plain" {
  agent      = "claude"
  branch     = "plain"
  depends_on = [session.talks, session.build]
}

session "says" {
  agent  = "claude"
  branch = "says"
  depends_on = [
    { session = session.talks, until = "turn" },
    { session = session.build["x"], until = "ready" },
    { session = session.build["y"] },
    session.plain,
  ]
}

session "computed" {
  agent      = "claude"
  branch     = "computed"
  depends_on = [{ session = session.talks, until = join("", ["tu", "rn"]) }]
}
