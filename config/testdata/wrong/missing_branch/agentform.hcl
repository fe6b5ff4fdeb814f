variable "none" {
  default = null
}

session "api" {
  agent = "claude"
}

session "pool" {
  count  = 2
  agent  = "claude"
  branch = var.none
}
