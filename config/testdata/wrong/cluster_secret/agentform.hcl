secret "TOKEN" {
  kubernetes {
    name = "tokens"
    key  = "github"
  }
}

secret "TWICE" {
  env = "OTHER"
  kubernetes {
    name = "tokens"
  }
}

session "here" {
  agent   = "claude"
  branch  = "agents/here"
  secrets = ["TOKEN"]
}

notify "chat" {
  on             = ["blocked"]
  webhook_secret = "TOKEN"
}
