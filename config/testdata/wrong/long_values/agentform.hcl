variable "text" {
  default = "long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long "
}

variable "list" {
  default = ["a", "b"]
}

session "api" {
  agent   = "claude"
  branch  = "agents/api"
  timeout = var.text
  desired = "${var.text} ${var.list[0]} ${length(var.list)}"
}
