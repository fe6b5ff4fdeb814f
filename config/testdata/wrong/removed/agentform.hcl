removed {
  from = session.api
}

removed {
  from    = session.worker
  destroy = false
}

removed {
  from = session.pool[1]
}

removed {
  from = session.old
}

removed {
  from    = session.old
  destroy = "perhaps"
}

moved {
  from = session.both
  to   = session.worker["web"]
}

removed {
  from = session.both
}

removed {
  lifecycle {
    destroy = false
  }
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
