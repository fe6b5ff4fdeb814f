session "w" {
  for_each = toset(["a"])
  count    = 2
  agent    = "claude"
  branch   = "w"
}

session "n" {
  count  = -1
  agent  = "claude"
  branch = "n"
}

session "m" {
  count  = 1e9
  agent  = "claude"
  branch = "m-${count.index}"
}
