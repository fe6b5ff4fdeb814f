locals {
  t0 = "0123456789abcdef"
  t1 = join("", [for i in range(100) : local.t0])
  t2 = join("", [for i in range(1000) : local.t1])
}

# Each of these is not too large.
session "api" {
  count  = 500
  agent  = "claude"
  branch = "agents/${count.index}"
  prompt = "${count.index}: ${local.t2}"
}
