moved {
  from = session.api
  to   = session.worker["web"]
}

moved {
  from = session.worker
  to   = session.pool
}

moved {
  from = session.worker["docs"]
  to   = session.pool[0]
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
