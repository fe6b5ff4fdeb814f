agentform {
  inherit_env = ["NPM_TOKEN", "A B"]
}

agent "mine" {
  command     = ["mine"]
  inherit_env = "all"
}

runtime "docker" "box" {
  image = "agents:1"
}

session "git" {
  agent       = "claude"
  branch      = "agents/git"
  inherit_env = ["GIT_DIR"]
}

session "own" {
  agent       = "claude"
  branch      = "agents/own"
  inherit_env = ["AGENTFORM_TOKEN"]
}

session "boxed" {
  agent       = "claude"
  branch      = "agents/boxed"
  runtime     = runtime.docker.box
  inherit_env = true
}
