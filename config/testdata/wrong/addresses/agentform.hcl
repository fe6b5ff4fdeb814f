variable "token" {
  default   = "swordfish"
  sensitive = true
}

variable "none" {
  default = null
}

moved {
  from = session.old["${var.nme}"]
  to   = session.worker[each.key]
}

removed {
  from = session
}

removed {
  from = session.old.branch
}

removed {
  from = "session.quoted"
}

removed {
  from = session.old[-1]
}

removed {
  from = session.old[1.5]
}

removed {
  from = session.old[true]
}

removed {
  from = session.old[var.token]
}

removed {
  from = session.old[var.none]
}

removed {
  from = agent.claude
}

removed {
  from = [session.a, session.b]
}

removed {
  from = session.a["x"]["y"]
}

import {
  to = upper("session.api")
  id = "tmux:a/b"
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
