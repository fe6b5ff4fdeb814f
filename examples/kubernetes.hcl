# Three agents in pods of a Kubernetes cluster, one each, with their clones on volumes.
# The image has to be where the cluster finds it: docs/docker.md has a Dockerfile for it,
# docs/kubernetes.md the way there.
#
#   agentform -f examples/kubernetes.hcl plan
#   agentform -f examples/kubernetes.hcl fetch api    # their commits, into this repository

variable "image" {
  type        = string
  default     = "registry.example/agents:1"
  description = "An image with tmux, git and Claude Code."
}

variable "namespace" {
  type        = string
  default     = "agents"
  description = "A namespace that exists."
}

locals {
  tasks = {
    api  = "Add a health endpoint, with a test."
    web  = "Show the health of the API on the start page."
    docs = "Document the health endpoint."
  }
}

runtime "kubernetes" "team" {
  namespace = var.namespace
  image     = var.image
  cpus      = 1
  memory    = "4GiB"

  storage {
    size = "20GiB"
  }
}

session "worker" {
  for_each = local.tasks
  agent    = "claude"
  branch   = "agents/${each.key}"
  prompt   = each.value
  runtime  = runtime.kubernetes.team
  secrets  = ["ANTHROPIC_API_KEY"]

  workspace {
    on_destroy = "remove_clean" # only once everything in it has been fetched
  }
}
