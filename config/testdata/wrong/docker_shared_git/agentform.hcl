runtime "docker" "sandbox" {
  image = "agents:1"
}

session "tree" {
  agent   = "claude"
  branch  = "agents/tree"
  runtime = runtime.docker.sandbox
  workspace {
    mode = "worktree"
  }
}

session "here" {
  agent   = "claude"
  branch  = "main"
  runtime = runtime.docker.sandbox
  workspace {
    mode = "in_place"
  }
}

session "allowed" {
  agent   = "claude"
  branch  = "agents/allowed"
  runtime = runtime.docker.sandbox
  workspace {
    mode      = "worktree"
    trust_git = true
  }
}

session "itself" {
  agent   = "claude"
  branch  = "agents/itself"
  runtime = runtime.docker.sandbox
  workspace {
    path = "."
  }
}
