agentform {
  parallelism = 2
}

agentform {
  parallelism = 3
}

variable "x" {
  default = 1
}

variable "x" {
  default = 2
}

locals {
  y = 1
}

locals {
  y = 2
}

agent "mine" {
  command = ["mine"]
}

agent "mine" {
  command = ["mine"]
}

session "api" {
  agent  = "claude"
  branch = "api"
  stop {
    grace = "1m"
  }
  stop {
    grace = "2m"
  }
}
