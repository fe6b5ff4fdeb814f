session "one" {
  agent  = "claude"
  branch = "main"
  workspace {
    mode = "in_place"
  }
}

session "two" {
  agent  = "codex"
  branch = "main"
  workspace {
    mode = "in_place"
  }
}
