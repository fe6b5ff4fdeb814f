moved {
  from = session.old
  to   = session.api
}

moved {
  from = session.older
  to   = session.api
}

moved {
  from = session.old
  to   = session.worker["web"]
}

moved {
  from = session.x
  to   = session.x
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
