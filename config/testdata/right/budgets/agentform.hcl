budget "night" {
  sessions    = [session.worker, session.api]
  tokens      = 20000000
  cost        = 25.5
  time        = "8h"
  per         = "week"
  zone        = "Europe/Berlin"
  warn_at     = 0.9
  on_exceeded = "stop"
}

budget "asleep" { # of a pool without instances now
  sessions = [session.asleep]
  cost     = 1
}

budget "all" {
  cost = 100
}

agent "claude" {
  budget "run" {
    tokens = 1000000
    per    = "run"
  }
}

session "worker" {
  for_each = toset(["docs", "web"])
  agent    = "claude"
  branch   = "agents/${each.key}"
  budget "own" {
    time        = each.key == "web" ? "2h" : "1h"
    on_exceeded = "notify"
  }
  budget "run" {
    tokens = 500000
    per    = "run"
  }
}

session "api" {
  agent  = "claude"
  branch = "agents/api"
}

session "asleep" {
  count  = 0
  agent  = "claude"
  branch = "agents/asleep-${count.index}"
}
