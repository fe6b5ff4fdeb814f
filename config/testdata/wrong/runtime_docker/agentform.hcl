runtime "docker" "a" {
}

runtime "docker" "b" {
  image   = "--privileged"
  cpus    = 0
  memory  = "4"
  pids    = 0
  network = ""
  user    = "me and you"
  env     = { AGENTFORM_RUN = "x" }
  mounts  = "~/.codex"
}

runtime "docker" "c" {
  image  = "agents:1"
  memory = "4 bananas"
  mounts = [{ source = "~/.codex", target = "agent" }]
}

runtime "docker" "d" {
  image  = "agents:1"
  memory = "1MiB"
  mounts = [{ source = "~/.codex" }]
}

runtime "docker" "e" {
  image  = "agents:1"
  mounts = [{ source = "a", target = "/a", readonly = true }]
}

runtime "docker" "f" {
  image  = "agents:1"
  mounts = [{ source = "a", target = "/a" }, { source = "b", target = "/a/" }]
  ports  = [80]
}

runtime "docker" "g" {
  image  = "agents:1"
  mounts = [{ source = "~you/a", target = "/a" }]
}

session "api" {
  agent   = "claude"
  branch  = "agents/api"
  runtime = "docker"
}
