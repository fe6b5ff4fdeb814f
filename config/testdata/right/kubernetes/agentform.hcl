runtime "kubernetes" "least" {
  image = "agents:1"
}

runtime "kubernetes" "most" {
  context            = "prod"
  namespace          = "agents"
  image              = "registry.example/agents:1"
  image_pull_secrets = ["pull"]
  cpus               = 0.5
  memory             = "4GiB"
  node_selector      = { "example.com/pool" = "agents" }
  tolerations        = [{ operator = "Exists" }, { key = "k", value = "v", effect = "NoExecute" }]
  affinity           = { nodeAffinity = { requiredDuringSchedulingIgnoredDuringExecution = { nodeSelectorTerms = [] } } }
  runtime_class      = "gvisor"
  service_account    = "agents"
  labels             = { team = "shop" }
  annotations        = { "example.com/note" = "any text: at all" }
  env                = { LOG = "debug" }
  user               = "2000:3000"
  read_only          = false
  network            = "restricted"
  volumes            = [{ target = "/cache/", claim = "cache", read_only = true }, { target = "/etc/npm", secret = "npm" }, { target = "/etc/x", config_map = "x" }]
  schedule_timeout   = "5m"

  storage {
    class = "fast"
    size  = "20GiB"
  }

  resources {
    requests = { cpu = "500m", "example.com/gpu" = "1" }
    limits   = { memory = "8Gi" }
  }
}

session "least" {
  agent   = "claude"
  branch  = "least"
  runtime = runtime.kubernetes.least
}

session "most" {
  agent   = "claude"
  branch  = "most"
  runtime = runtime.kubernetes.most

  lifecycle {
    ignore_changes = [prompt, statefulset.spec.replicas, "statefulset.spec.template.spec.containers[session].image"]
  }
}

secret "GIT_TOKEN" {
  kubernetes {
    name = "tokens"
    key  = "git"
  }
}

session "cloned" {
  agent   = "claude"
  branch  = "cloned"
  runtime = runtime.kubernetes.least

  workspace {
    repo        = "https://agent@git.example/shop.git"
    repo_secret = "GIT_TOKEN"
    base        = "develop"
  }
}

session "public" {
  agent   = "claude"
  branch  = "public"
  runtime = runtime.kubernetes.least

  workspace {
    repo = "https://git.example/shop.git"
  }
}
