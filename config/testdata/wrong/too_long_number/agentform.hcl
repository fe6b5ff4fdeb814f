locals {
  long = "x${1e100000000}"
  one  = true ? 1e10000000 : "x"
}

session "api" {
  agent    = "claude"
  branch   = "agents/api"
  priority = 1e5000
}
