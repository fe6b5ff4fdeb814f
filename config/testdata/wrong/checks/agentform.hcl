check "empty" {
}

check "half" {
  assert {
    condition = true
  }
}

check "text" {
  assert {
    condition     = "perhaps"
    error_message = "It is no truth."
  }
}

check "unknown" {
  assert {
    condition     = session.api.nothing
    error_message = "There is no such thing."
  }
}

check "message" {
  condition = true
}

check "warns" {
  assert {
    condition     = length(session.worker) > 5 && session.api.role != "x"
    error_message = "There are ${length(session.worker)} workers."
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
