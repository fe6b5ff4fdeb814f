runtime "dokcer" "a" {
  image = "agents:1"
}

runtime "tmux" "b" {
  image = "agents:1"
}

runtime "tmux" "c" {
}

runtime "tmux" "d" {
  socket = "-L"
}

runtime "tmux" "e.f" {
  socket = "x"
}

runtime "docker" {
  image = "agents:1"
}

runtime "tmux" "g" {
  socket = "g"
}

runtime "tmux" "g" {
  socket = "h"
}

session "api" {
  agent   = "claude"
  branch  = "agents/api"
  runtime = runtime.tmux.h
}

session "web" {
  agent   = "claude"
  branch  = "agents/web"
  runtime = runtime.podman.x
}

session "docs" {
  agent   = "claude"
  branch  = "agents/docs"
  runtime = runtime.tmux
}
