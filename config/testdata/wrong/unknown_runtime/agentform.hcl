runtime "docker" "sandbox" {
  image = "agents:1"
}

runtime "tmux" "own" {
  socket = "own"
}

notify "ops" {
  on      = ["failed"]
  command = ["true"]
}

import {
  to = session.api
  id = "docker:api"
}

session "api" {
  agent   = "claude"
  branch  = "agents/api"
  runtime = runtime.docker.sandbox
  workspace {
    mode = "clone"
  }
  health {
    heartbeat {
      key = "F12"
    }
  }
}

session "web" {
  agent   = "claude"
  branch  = "agents/web"
  runtime = runtime.docker.sandbx
}

session "own" {
  agent   = "claude"
  branch  = "agents/own"
  runtime = runtime.tmux.own
}

session "pod" {
  agent   = "claude"
  branch  = "agents/pod"
  runtime = "podman"
}
