variable "prefix" {
  default = "agents"
}

session "a" {
  agent  = "claude"
  branch = var.prefx
}

session "b" {
  agent  = "claude"
  branch = "${var.prefx}/b"
}

session "c" {
  count  = 3
  agent  = "claude"
  branch = substr("x", 0, "one")
  prompt = self.branch
}

session "d" {
  agent = "claude"
  workspace {
    mod = "plain"
  }
}

session "e" {
  count  = 2
  agent  = agent.nobody
  branch = "e"
}

agent "broken" {
  comand = ["x"]
}

session "f" {
  agent  = agent.broken
  branch = "f"
}
