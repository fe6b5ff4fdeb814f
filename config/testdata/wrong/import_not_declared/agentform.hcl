import {
  to = session.apy
  id = "tmux:default/one"
}

import {
  to = session.worker
  id = "tmux:default/two"
}

import {
  to = session.worker["doc"]
  id = "tmux:default/three"
}

import {
  to = session.api["x"]
  id = "tmux:default/four"
}

import {
  to = session.pool[2]
  id = "tmux:default/five"
}

import {
  to = session.pool[3]
  id = "tmux:default/six"
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
