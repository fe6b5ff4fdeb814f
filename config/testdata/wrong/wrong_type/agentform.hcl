variable "n" {
  default = "many"
}

session "api" {
  agent    = ["claude"]
  branch   = "agents/api"
  priority = var.n
  enabled  = "maybe"
  args     = { verbose = true }
  env      = ["A=1"]
  labels   = "x"
  workspace {
    setup = "make deps"
  }
}

session "web" {
  agent    = "claude"
  branch   = "agents/web"
  priority = 1.5
  args     = ["a", ["b"], null]
}
