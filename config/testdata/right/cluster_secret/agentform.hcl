secret "TOKEN" {
  kubernetes {
    name = "tokens"
    key  = "github"
  }
}

runtime "kubernetes" "team" {
  image = "agents:1"
}

session "api" {
  agent   = "claude"
  branch  = "agents/api"
  runtime = runtime.kubernetes.team
  secrets = ["TOKEN", "OTHER"]
}
