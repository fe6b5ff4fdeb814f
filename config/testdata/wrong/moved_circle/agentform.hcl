moved {
  from = session.a
  to   = session.b
}

moved {
  from = session.b
  to   = session.c
}

moved {
  from = session.c
  to   = session.a
}

moved {
  from = session.d
  to   = session.a["x"]
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
