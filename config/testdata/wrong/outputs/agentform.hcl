variable "token" {
  default   = "swordfish"
  sensitive = true
}

output "a" {
  value = session.api.brnch
}

output "b" {
  value = session.wrker
}

output "c" {
  value = "token: ${var.token}"
}

output "d" {
}

output "e" {
  value     = self.branch
  sensitive = "no idea"
}

output "f" {
  value = { for k, s in session.worker : k => s.branch.name }
}

output "g" {
  value = [for s in session.pool : upper(s.branch)]
}

output "a" {
  value = 1
}

output "9" {
  value = 1
}

output "h" {
  value = output.a
}

output "i" {
  value       = session.worker["we"].branch
  description = var.token
}

session "api" {
  agent  = "claude"
  branch = "agents/api"
}

session "worker" {
  for_each = toset(["web", "docs"])
  agent    = "claude"
  branch   = "agents/${each.key}"
}

session "pool" {
  count   = 3
  enabled = count.index < 2
  agent   = "claude"
  branch  = "pool/${count.index}"
}
