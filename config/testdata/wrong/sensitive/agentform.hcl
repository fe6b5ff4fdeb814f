variable "token" {
  type      = string
  sensitive = true
  default   = "swordfish"
}

locals {
  header = "Bearer ${var.token}"
}

session "api" {
  agent  = "claude"
  branch = "agents/api"
  prompt = "Use ${var.token}"
  env    = { TOKEN = local.header }
  args   = [file("keys/${var.token}.txt")]
  labels = { n = tonumber(var.token) }
}

session "web" {
  for_each = toset([var.token])
  agent    = "claude"
  branch   = "agents/${each.key}"
}

session "env" {
  agent  = "claude"
  branch = "env"
  prompt = "Use ${env("API_TOKEN")}"
  lifecycle {
    replace_triggered_by = [var.token]
  }
}
