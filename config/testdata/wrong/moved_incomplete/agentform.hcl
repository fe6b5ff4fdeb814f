moved {
  from = session.old
}

moved {
  to = "session.api"
}

moved {
  form = session.old
  to   = session.api
}

moved {
  from = null
  to   = null
}

session "api" {
  agent  = "claude"
  branch = "agents/api"
}

session "worker" {
  for_each = toset(["web", "docs"])
  agent    = "claude"
  branch   = "agents/${each.key}"
}

session "pool" {
  count   = 3
  enabled = count.index < 2
  agent   = "claude"
  branch  = "pool/${count.index}"
}
