runtime "kubernetes" "a" {
  image              = "two words"
  namespace          = "Upper"
  user               = "0:0"
  image_pull_secrets = ["ok", "not ok"]
  network            = "closed"
  labels             = { "agentform.id" = "mine" }
  node_selector      = { "pool name" = "x" }
  tolerations        = [{ key = "k", operator = "Maybe" }]
  affinity           = { nodes = {} }
  volumes            = [{ target = "/x", claim = "a", secret = "b" }]
  schedule_timeout   = "0s"

  storage {
    class = "not a name"
    size  = "1KiB"
  }

  resources {
    requests = { cpu = "many" }
  }
}

runtime "kubernetes" "b" {
  image   = "x"
  volumes = [{ target = "relative", claim = "a" }]
}

runtime "kubernetes" "p" {
  image          = "x"
  network        = "restricted"
  priority_class = "Upper"
  pod = {
    hostNetwork                  = true
    automountServiceAccountToken = true
    volumes                      = [{ name = "run", emptyDir = {} }]
    containers = [
      { name = "session", command = ["sh"], volumeMounts = [{ name = "session", mountPath = "/x" }] },
      { image = "y" },
    ]
  }
}

runtime "kubernetes" "n" {
  image = "x"
  pod   = { volumes = null, containers = [{ name = "session", env = null, volumeMounts = "x" }] }
}

runtime "kubernetes" "l" {
  image         = "x"
  pod           = ["a"]
  network_allow = ["10.0.0.1/8", "namespace/Upper", "example.org:443"]
}

runtime "kubernetes" "c" {
  image       = "x"
  tolerations = [{ kee = "k" }]
  volumes     = [{ target = "/x", claim = "a" }, { target = "/x/", claim = "b" }]
  labels      = { team = "a b" }
}

session "worktree" {
  agent   = "claude"
  branch  = "a"
  runtime = runtime.kubernetes.b
  workspace {
    mode = "worktree"
  }
}

session "path" {
  agent   = "claude"
  branch  = "b"
  runtime = runtime.kubernetes.b
  workspace {
    path = "there"
  }
}

session "word" {
  agent       = "claude"
  branch      = "c"
  runtime     = "kubernetes"
}

session "env" {
  agent       = "claude"
  branch      = "d"
  runtime     = runtime.kubernetes.b
  inherit_env = ["TOKEN"]
}

runtime "kubernetes" "home" {
  image   = "a:1"
  volumes = [{ secret = "a", target = "/agentform/home" }]
}

runtime "kubernetes" "password" {
  image   = "a:1"
  volumes = [{ secret = "a", target = "/run/agentform-repo/" }]
}
