variable "none" {
  type    = string
  default = "0"
}

variable "much" {
  default = 1 / 0
}

locals {
  rest = [for n in [3, 0] : 6 % n]
  log  = log(0, 10)
}

output "one" {
  value = 1 / 0
}

output "text" {
  value = "a${-1 / var.none}b"
}

output "compared" {
  value = 2 / (3 - 3) > 5 ? "a" : "b"
}

session "api" {
  agent    = "claude"
  branch   = "api"
  priority = 0 / 0
}
