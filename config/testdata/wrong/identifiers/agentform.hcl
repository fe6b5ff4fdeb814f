session "1st" {
  agent  = "claude"
  branch = "a"
}

session "a b" {
  agent  = "claude"
  branch = "b"
}

variable "x.y" {
  default = 1
}

agent "my/agent" {
  command = ["x"]
}

session {
  agent = "claude"
}

session "a" "b" {
  agent = "claude"
}
