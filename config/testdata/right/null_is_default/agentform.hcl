variable "branch" {
  default = null
}

agentform {
  project     = null
  outputs_dir = null
}

session "api" {
  agent    = "claude"
  branch   = coalesce(var.branch, "agents/api")
  role     = null
  prompt   = null
  desired  = null
  timeout  = null
  env      = null
  secrets  = null
  runtime  = null
  depends_on = []
  workspace {
    repo  = null
    path  = null
    setup = null
  }
}
