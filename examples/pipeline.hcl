# A pipeline: one builder an area, each a script that runs once, and a reviewer
# that starts when all of them are done.
#
#   agentform -f examples/pipeline.hcl apply --wait
#   agentform -f examples/pipeline.hcl --var 'areas=["api"]' plan

agentform {
  project     = "pipeline"
  data_dir    = ".agentform/pipeline"
  parallelism = 4
}

variable "areas" {
  type        = list(string)
  default     = ["api", "web", "docs"]
  description = "What there is to build, one session each."

  validation {
    condition     = length(var.areas) > 0
    error_message = "At least one area is needed."
  }
}

locals {
  agents   = "${path.module}/agents"
  branches = { for area in var.areas : area => "pipeline/${area}" }
}

# one_shot: leaving with 0 means that the work is done, and it is not run again
# until its prompt, branch or workspace changes.
agent "builder" {
  command    = ["sh", "${local.agents}/build.sh"]
  prompt_via = "argument"
  one_shot   = true
}

agent "reviewer" {
  command    = ["sh", "${local.agents}/scripted.sh"]
  prompt_via = "argument"
  ready      = "Tell me more"
}

session "build" {
  for_each = toset(var.areas)

  role    = "builder"
  agent   = agent.builder
  branch  = local.branches[each.key]
  prompt  = "build ${each.key}"
  timeout = "10m"
  labels  = { area = each.key }

  workspace {
    on_destroy = "remove_clean"
  }
}

session "review" {
  role       = "reviewer"
  agent      = agent.reviewer
  branch     = "pipeline/review"
  prompt     = "review ${join(", ", values(local.branches))}"
  depends_on = [session.build]

  workspace {
    on_destroy = "remove_clean"
  }
}
