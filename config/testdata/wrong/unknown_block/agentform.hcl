sesion "api" {
  agent = "claude"
}

session "web" {
  agent  = "claude"
  branch = "agents/web"
  restrat {
    policy = "never"
  }
}
