locals {
  names = ["ok", "two words", "a..b", "end.lock"]
}

session "w" {
  for_each = toset(local.names)
  agent    = "claude"
  branch   = each.key
}

session "dash" {
  agent  = "claude"
  branch = "-x"
}
