variable "token" {
  default   = "swordfish"
  sensitive = true
}

secret "NONE" {
}

secret "BOTH" {
  env  = "A"
  file = "/run/secrets/both"
}

secret "NULL" {
  env = null
}

secret "NAME" {
  env = "not a name"
}

secret "DASH-ED" {
  env = "A"
}

secret "EMPTY" {
  command = []
}

secret "HOME" {
  file = "~other/key"
}

secret "TOKEN" {
  command = ["echo", var.token]
}

secret "VALUE" {
  value = "swordfish"
}

secret "NONE" {
  env = "A"
}

secret {
  env = "A"
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
