# A team of real agents: Claude Code writes, Codex tests, Gemini documents, and
# a second Claude with other settings reviews. Needs claude, codex and gemini on
# PATH, each logged in.
#
#   agentform -f examples/team.hcl validate
#   agentform -f examples/team.hcl apply
#
# Each waits for the work of those before it; the hub starts it when that is done.

agentform {
  project     = "team"
  data_dir    = ".agentform/team"
  max_running = 4
  hub         = "auto" # apply starts the hub
}

variable "ticket" {
  type        = string
  default     = "SHOP-1"
  description = "What the team works on; names its branches."
}

locals {
  prefix = "team/${lower(var.ticket)}"
}

# A change to the built-in: everything else is Claude's own.
agent "reviewer" {
  base        = "claude"
  command     = ["claude", "--model", "opus"]
  permissions = "ask"
}

session "code" {
  role     = "writer"
  priority = 10
  agent    = "claude"
  branch   = "${local.prefix}/code"
  prompt   = templatefile("${path.module}/prompts/code.md.tftpl", { ticket = var.ticket })

  restart {
    policy = "on-failure"
    resume = true # goes on with its own conversation
  }
}

session "tests" {
  role       = "tester"
  agent      = "codex"
  branch     = "${local.prefix}/tests"
  prompt     = "Write the tests for ${var.ticket}. Read the branch ${local.prefix}/code, but commit only here."
  depends_on = [{ session = session.code, until = "turn" }] # begins when the code is written
}

session "docs" {
  role       = "writer"
  agent      = "gemini"
  branch     = "${local.prefix}/docs"
  prompt     = "Document ${var.ticket} in docs/, from the branch ${local.prefix}/code."
  depends_on = [{ session = session.code, until = "turn" }]
}

session "review" {
  role   = "reviewer"
  agent  = agent.reviewer
  branch = "${local.prefix}/review"
  prompt = "Review the branches of ${var.ticket} and write what you find to REVIEW.md."
  depends_on = [
    { session = session.code, until = "turn" },
    { session = session.tests, until = "turn" },
    { session = session.docs, until = "turn" },
  ]

  stop {
    grace = "30s"
  }

  lifecycle {
    prevent_destroy = true # its findings are read by a person first
  }
}
