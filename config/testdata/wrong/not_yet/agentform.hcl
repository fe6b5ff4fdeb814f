runtime "docker" "sandbox" {
  image = "agents:1"
}

secret "KEY" {
  env = "X"
}

notify "ops" {
  on = ["failed"]
}

import {
  to = session.api
  id = "tmux:a/b"
}

moved {
  from = session.a
  to   = session.api
}

removed {
  from = session.b
}

output "x" {
  value = session.api.branch
}

check "c" {
  assert {
    condition     = true
    error_message = "x"
  }
}

session "api" {
  agent   = "claude"
  branch  = "agents/api"
  runtime = runtime.docker.sandbox
  workspace {
    mode = "clone"
  }
  conversation {
    resume = true
  }
  health {
    heartbeat {
      key = "F13"
    }
  }
}

session "web" {
  agent   = "claude"
  branch  = "agents/web"
  runtime = runtime.docker.sandbx
}

session "pod" {
  agent   = "claude"
  branch  = "agents/pod"
  runtime = "podman"
}
