variable "old" {
  default = "elder"
}

variable "token" {
  default   = "swordfish"
  sensitive = true
}

locals {
  areas = toset(["api", "web"])
  live  = { api = "default/one", web = "/tmp/tmux-1000/default/two words" }
}

runtime "docker" "sandbox" {
  image   = "agents:1"
  host    = "ssh://me@elsewhere"
  cpus    = 1.5
  memory  = "4GiB"
  pids    = 512
  network = "none"
  user    = "1000:1000"
  env     = { AREA = upper("all") }
  mounts = [
    { source = "~/.codex", target = "/home/agent/.codex", read_only = true },
    { source = "cache", target = "/cache/" },
  ]
}

runtime "tmux" "own" {
  socket = "~/sockets/agents"
}

secret "OPENAI_API_KEY" {
  command = ["op", "read", "op://dev/${var.old}"]
}

secret "GITHUB_TOKEN" {
  env = "GH_TOKEN"
}

secret "OTHER" {
  file = "~/.secrets/other"
}

notify "ops" {
  on      = ["failed", "escalated", "failed"]
  webhook = "https://example.com/hook"
}

notify "desk" {
  on      = ["done"]
  command = ["notify-send", "agentform"]
}

notify "morning" {
  report  = "08:05"
  command = ["mail", "-s", "agents", "ada"]
}

notify "phone" {
  on             = ["blocked"]
  preset         = "ntfy"
  webhook_secret = "TOPIC"
}

session "worker" {
  for_each = local.areas
  agent    = "claude"
  branch   = "agents/${each.key}"
  prompt   = "Build."
  labels   = { area = each.key }
  conversation {
    id = "0b1c"
  }
  health {
    heartbeat {
      key = "F12"
    }
  }
}

session "builder" {
  count   = 3
  enabled = count.index != 1
  agent   = "codex"
  branch  = "builders/${count.index}"
}

session "lead" {
  agent = "claude"
  workspace {
    mode = "plain"
  }
  conversation {
    resume = false
  }
  lifecycle {
    ignore_changes       = [runtime.kind, conversation]
    replace_triggered_by = [var.old]
  }
}

session "gone" {
  enabled = false
  agent   = "claude"
  branch  = "gone"
}

# a chain, the second step first
moved {
  from = session.api
  to   = session.worker["api"]
}

moved {
  from = session.ancient
  to   = session.api
}

moved {
  for_each = { elder = "web" }
  from     = session.old["${each.key}"]
  to       = session.worker[each.value]
}

moved {
  from = session.makers
  to   = session.builder
}

# one session became one of many
moved {
  from = session.builder
  to   = session.builder[0]
}

removed {
  from    = session.retired
  destroy = false
}

removed {
  for_each = toset(["a", "b"])
  from     = session.crowd[each.key]
}

removed {
  from = session.gone
}

removed {
  from = session.builder[1]
}

import {
  for_each = local.live
  to       = session.worker[each.key]
  id       = "tmux:${each.value}"
}

import {
  to = session.builder[length(local.areas)]
  id = "tmux:default/build"
}

output "branches" {
  value = { for k, s in session.worker : k => s.branch }
}

output "all" {
  description = "everything that can be seen"
  value       = [session.lead, session.worker["api"], session.gone, session.builder]
}

output "token" {
  value     = "token ${var.token}"
  sensitive = true
}

output "agents" {
  value = [agent.claude.name, path.module == path.repo, null, 1.5]
}

check "few" {
  assert {
    condition     = length(session.worker) < 2
    error_message = "There are ${length(session.worker)} workers."
  }
  assert {
    condition     = session.lead.branch == null
    error_message = "It has none."
  }
}
