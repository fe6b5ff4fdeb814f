runtime "docker" "far" {
  image     = "agents:1"
  host      = "tcp://build.example:2376"
  cert_path = "../certs"
}

session "api" {
  agent   = "claude"
  branch  = "agents/api"
  runtime = runtime.docker.far
}
