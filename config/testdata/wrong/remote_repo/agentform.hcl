runtime "kubernetes" "team" {
  image = "agents:1"
}

secret "TOKEN" {
  kubernetes {
    name = "tokens"
    key  = "git"
  }
}

session "here" {
  agent  = "claude"
  branch = "a"
  workspace {
    repo = "https://git.example/shop.git"
  }
}

session "password" {
  agent   = "claude"
  branch  = "b"
  runtime = runtime.kubernetes.team
  workspace {
    repo = "https://me:hunter2@git.example/shop.git"
  }
}

session "ssh" {
  agent   = "claude"
  branch  = "c"
  runtime = runtime.kubernetes.team
  workspace {
    repo = "git@git.example:shop.git"
  }
}

session "scheme" {
  agent   = "claude"
  branch  = "d"
  runtime = runtime.kubernetes.team
  workspace {
    repo = "ftp://git.example/shop.git"
  }
}

session "value" {
  agent   = "claude"
  branch  = "e"
  runtime = runtime.kubernetes.team
  workspace {
    repo        = "https://git.example/shop.git"
    repo_secret = "hunter2-token"
  }
}

session "local" {
  agent   = "claude"
  branch  = "f"
  runtime = runtime.kubernetes.team
  workspace {
    repo_secret = "TOKEN"
  }
}

session "plain" {
  agent   = "claude"
  runtime = runtime.kubernetes.team
  workspace {
    mode        = "plain"
    repo_secret = "TOKEN"
  }
}
