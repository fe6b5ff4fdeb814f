variable "token" {
  default   = "swordfish"
  sensitive = true
}

notify "none" {
  on      = []
  command = ["true"]
}

notify "typo" {
  on      = ["escalated", "blockd"]
  command = ["true"]
}

notify "all" {
  command = ["true"]
}

notify "both" {
  on      = ["done"]
  command = ["true"]
  webhook = "https://example.com"
}

notify "neither" {
  on = ["done"]
}

notify "ftp" {
  on      = ["done"]
  webhook = "ftp://example.com/x"
}

notify "secret" {
  on      = ["done"]
  webhook = "https://example.com/${var.token}"
}

notify "three" {
  on             = ["done"]
  preset         = "slack"
  webhook        = "https://example.com"
  webhook_secret = "HOOK"
}

notify "shown" {
  on             = ["done"]
  preset         = "slak"
  webhook_secret = "https://hooks.slack.com/services/T0/B0/x"
}

notify "desk" {
  on      = ["done"]
  preset  = "desktop"
  webhook = "https://example.com"
}

notify "own" {
  on      = ["done"]
  preset  = "ntfy"
  command = ["true"]
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

notify "noon" {
  report  = "noon"
  command = ["true"]
}

notify "short" {
  on      = ["done"]
  report  = "8:00"
  command = ["true"]
}

notify "late" {
  on      = []
  report  = "24:00"
  command = ["true"]
}
