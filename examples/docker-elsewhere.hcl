# Three agents in containers of another machine's Docker engine, reached by ssh. Each clone
# is on a volume there: the branches travel there and back as git bundles. The image has to
# be on that machine: docs/docker.md has its Dockerfile.
#
#   agentform -f examples/docker-elsewhere.hcl plan
#   agentform -f examples/docker-elsewhere.hcl fetch api    # their commits, into this repository

variable "host" {
  type        = string
  default     = "ssh://ada@build.example.org"
  description = "The engine: ssh://user@host, or tcp://host:2376 with DOCKER_CERT_PATH set."
}

variable "image" {
  type        = string
  default     = "agents:1"
  description = "An image on the engine's machine, with tmux, git and Claude Code."
}

locals {
  tasks = {
    api  = "Add a health endpoint, with a test."
    web  = "Show the health of the API on the start page."
    docs = "Document the health endpoint."
  }
}

runtime "docker" "build" {
  image  = var.image
  host   = var.host
  cpus   = 2
  memory = "4GiB"
}

session "worker" {
  for_each = local.tasks
  agent    = "claude"
  branch   = "agents/${each.key}"
  prompt   = each.value
  runtime  = runtime.docker.build
  secrets  = ["ANTHROPIC_API_KEY"]

  workspace {
    on_destroy = "remove_clean" # only once everything in it has been fetched
  }
}
