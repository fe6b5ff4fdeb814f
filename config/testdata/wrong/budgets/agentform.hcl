budget "none" {}

budget "few" {
  tokens = 0.5
  cost   = 0
  time   = "1ms"
  per    = "month"
  zone   = "Europe/Nowhere"
}

budget "few" {
  tokens = 5.5
}

budget "nobody" {
  sessions = [session.nobody]
  cost     = 1
}

budget "waits" {
  sessions = [{ session = session.api, until = "done" }]
  cost     = 1
  warn_at  = 2
}

budget "empty" {
  sessions = []
  cost     = 1
}

budget "null" {
  tokens = null
  cost   = null
}

budget "text" {
  cost = "$5"
}

budget "quoted" {
  sessions = ["api"]
  cost     = 1
}

session "api" {
  agent  = "claude"
  branch = "agents/api"
  budget "own" {
    cost     = 1
    sessions = [session.api]
  }
  budget "own" {
    cost = 2
  }
}
