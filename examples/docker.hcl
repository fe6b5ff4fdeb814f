# Three agents in containers, one each: they see their own clone and nothing else of
# this machine. The image has to be there: docs/docker.md has its Dockerfile.
#
#   agentform -f examples/docker.hcl plan
#   agentform -f examples/docker.hcl fetch api    # their commits, into this repository

variable "image" {
  type        = string
  default     = "agents:1"
  description = "An image with tmux, git and Claude Code."
}

locals {
  tasks = {
    api  = "Add a health endpoint, with a test."
    web  = "Show the health of the API on the start page."
    docs = "Document the health endpoint."
  }
}

runtime "docker" "sandbox" {
  image     = var.image
  cpus      = 2
  memory    = "4GiB"
  pids      = 512
  read_only = true
}

session "worker" {
  for_each = local.tasks
  agent    = "claude"
  branch   = "agents/${each.key}"
  prompt   = each.value
  runtime  = runtime.docker.sandbox
  secrets  = ["ANTHROPIC_API_KEY"]

  workspace {
    on_destroy = "remove_clean" # only once everything in it has been fetched
  }
}
