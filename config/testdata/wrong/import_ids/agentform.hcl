import {
  to = session.api
  id = "docker:web"
}

import {
  for_each = {
    none    = ""
    screen  = "screen:default/a"
    socket  = "tmux:a"
    session = "tmux:/"
    dash    = "tmux:-L/a"
    dots    = "tmux:default/a.0"
    slash   = "tmux:default/a/b"
    id      = "tmux:default/$1"
    line    = "tmux:default/a\nb"
  }
  to = session.worker["web"]
  id = each.value
}

import {
  to = session.api
}

import {
  to = session.api
  id = 7
}

session "api" {
  agent  = "claude"
  branch = "agents/api"
}

session "worker" {
  for_each = toset(["web", "docs"])
  agent    = "claude"
  branch   = "agents/${each.key}"
}

session "pool" {
  count   = 3
  enabled = count.index < 2
  agent   = "claude"
  branch  = "pool/${count.index}"
}
