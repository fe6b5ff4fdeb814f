session "m" {
  count  = 10001
  agent  = "claude"
  branch = "m-${count.index}"
}
