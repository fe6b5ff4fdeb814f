runtime "docker" "sandbox" {
  image     = "agents:1"
  cpus      = 2
  memory    = "4GiB"
  pids      = 512
  network   = "none"
  user      = "1000:1000"
  read_only = true
  env       = { LANG = "C.UTF-8" }
  mounts    = [{ source = "~/.codex", target = "/home/agent/.codex", read_only = true }]
}

runtime "tmux" "mine" {
  socket = "mine"
}

session "clone" {
  agent   = "claude"
  branch  = "agents/api"
  runtime = runtime.docker.sandbox
}

# A clone has branches of its own.
session "same_branch" {
  agent   = "claude"
  branch  = "agents/api"
  runtime = runtime.docker.sandbox
}

session "tree" {
  agent   = "claude"
  branch  = "agents/tree"
  runtime = runtime.docker.sandbox
  workspace {
    mode      = "worktree"
    trust_git = true
  }
}

session "plain" {
  agent   = "claude"
  runtime = runtime.docker.sandbox
  workspace {
    mode = "plain"
  }
}

session "own_server" {
  agent   = "claude"
  branch  = "agents/own"
  runtime = runtime.tmux.mine
}

session "clone_in_tmux" {
  agent  = "claude"
  branch = "agents/own"
  workspace {
    mode = "clone"
  }
}

session "taken_over" {
  agent   = "claude"
  runtime = runtime.docker.sandbox
  workspace {
    mode = "plain"
    path = "/srv/work"
  }
}

import {
  to = session.taken_over
  id = "docker:old-one"
}
