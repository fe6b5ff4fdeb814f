agentform {
  required_version = ">= 0.1"
  project          = local.project
  data_dir         = "var/${local.project}"
  outputs_dir      = "~/agents"
  history_keep     = "14d"
  parallelism      = 4
  max_running      = 8
}

variable "branch_prefix" {
  type        = string
  default     = "agents"
  description = "where the branches stand"
  nullable    = false

  validation {
    condition     = can(regex("^[a-z]+$", var.branch_prefix))
    error_message = "Only small letters."
  }
}

variable "budget" {
  type    = object({ hours = optional(number, 4) })
  default = {}
}

variable "token" {
  sensitive = true
  default   = "swordfish"
}

locals {
  long    = "${local.hours}h"
  hours   = var.budget.hours
  project = "shop"
  areas   = toset(["api", "web"])
  who     = { api = agent.reviewer, web = agent.codex }
}

agent "reviewer" {
  base             = "claude"
  command          = ["claude", "--model", "opus"]
  permissions      = "edits"
  trust            = true
  prompt_via       = "paste"
  ready            = "Type your message|>"
  ready_timeout    = "45s"
  status_bar_lines = 5
  observable       = "after_first_turn"
  unobserved_for   = "2d"
  one_shot         = true
  env              = { MODE = "review" }

  patterns {
    done         = ["tasks completed"]
    blocked      = ["approve\\?"]
    blocked_api  = ["slow down"]
    failed       = ["boom"]
    working      = ["thinking"]
    ui           = ["╭"]
    shell_prompt = ["\\$ $"]
  }

  restart {
    policy = "never"
    backoff {
      initial = "1s"
    }
  }

  health {
    interval = "1m"
  }

  stop {
    signal = "SIGINT"
  }
}

agent "codex" {
  permissions = "ask"
}

agent "script" {
  command = ["./run.sh", "--fast"]
}

session "worker" {
  for_each   = local.areas
  enabled    = each.key != "none"
  role       = "builder"
  priority   = 10
  agent      = local.who[each.key]
  profile    = "work"
  branch     = "${var.branch_prefix}/${each.key}"
  prompt     = templatefile("prompts/${each.key}.md", { area = each.value, branch = self.branch })
  args       = ["--verbose", self.address]
  runtime    = "tmux"
  env        = { LOG = "debug", EMPTY = null, KEY = self.key }
  secrets    = ["OPENAI_API_KEY", "GITHUB_TOKEN", "OPENAI_API_KEY"]
  desired    = "paused"
  timeout    = local.long
  labels     = { team = env("TEAM"), more = env("MORE", "none") }
  depends_on = [session.database, session.pool[0]]

  workspace {
    repo       = "."
    mode       = "worktree"
    path       = "../trees/${each.key}"
    base       = "main"
    setup      = ["make", "deps"]
    on_destroy = "remove_clean"
    trust_git  = false
  }

  restart {
    attempts       = 2
    window         = "1h30m"
    escalate_after = 1
    resume         = false
    backoff {
      factor      = 1.5
      max         = "1m"
      jitter      = 0
      reset_after = "1d12h"
    }
  }

  health {
    timeout      = "2s"
    start_period = "0s"
    failures     = 1
    hung_after   = "1h"
    on_unhealthy = "escalate"
    heartbeat {
      command = ["test", "-e", "ALIVE"]
    }
  }

  pause {
    mode = "freeze"
  }

  stop {
    grace      = "1m"
    after_turn = "5m"
  }

  lifecycle {
    prevent_destroy      = true
    ignore_changes       = [prompt, health.interval, agent.command]
    replace_triggered_by = [local.areas, var.budget]
  }
}

session "database" {
  agent = agent.script
  workspace {
    mode = "plain"
    path = "data"
  }
  lifecycle {
    ignore_changes = all
  }
}

session "pool" {
  count      = 2
  agent      = "gemini"
  branch     = "pool/${count.index}"
  depends_on = count.index == 0 ? [] : [session.pool[count.index - 1]]
}

session "off" {
  enabled = false
  agent   = "codex"
  branch  = "agents/api"
}

session "last" {
  agent      = "codex"
  branch     = "last"
  depends_on = [session.off, session.pool]
}
