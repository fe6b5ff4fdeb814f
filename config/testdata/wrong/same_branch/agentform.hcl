session "api" {
  agent  = "claude"
  branch = "agents/x"
}

session "web" {
  agent  = "claude"
  branch = "agents/x"
}

session "pool" {
  count  = 12
  agent  = "claude"
  branch = "pool"
}

session "inside" {
  agent  = "claude"
  branch = "pool/inside"
}
