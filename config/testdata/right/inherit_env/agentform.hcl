agentform {
  inherit_env = ["NPM_TOKEN", "AWS_*"]
}

agent "mine" {
  command     = ["mine"]
  inherit_env = true
}

agent "reviewer" {
  base        = "claude"
  inherit_env = false
}

runtime "docker" "box" {
  image = "agents:1"
}

session "api" {
  agent       = agent.mine
  branch      = "agents/api"
  inherit_env = ["NPM_TOKEN", "DATABASE_URL"]
}

session "web" {
  agent       = agent.reviewer
  branch      = "agents/web"
  inherit_env = null
}

session "boxed" {
  agent   = "claude"
  branch  = "agents/boxed"
  runtime = runtime.docker.box
}
