session "api" {
  agent  = "claude"
  branch = "agents/api"
  restart = {
    policy = "never"
  }
  env {
    LOG = "debug"
  }
}
