session "api" {
  agent  = "claude"
  branch = "main"
  workspace {
    mode = "in_place"
  }
}

session "web" {
  agent  = "claude"
  branch = "other"
  workspace {
    mode = "in_place"
  }
}

session "third" {
  agent  = "claude"
  branch = "main"
  workspace {
    mode = "in_place"
    path = "elsewhere"
  }
}
