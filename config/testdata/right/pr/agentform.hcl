session "usual" {
  agent  = "claude"
  branch = "usual"
  pr {}
}

session "own" {
  agent  = "claude"
  branch = "own"
  pr {
    reviews = "ignore"
    rounds  = 5
    from    = ["OWNER", "NONE", "OWNER"]
  }
}
