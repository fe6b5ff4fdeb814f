import {
  to = session.api
  id = "tmux:default/one"
}

import {
  to = session.api
  id = "tmux:default/two"
}

import {
  to = session.worker["web"]
  id = "tmux:default/one"
}

import {
  for_each = toset(["a", "b"])
  to       = session.pool[0]
  id       = "tmux:default/${each.key}"
}

import {
  for_each = ["a"]
  to       = session.pool[1]
  id       = "tmux:default/${each.key}"
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
