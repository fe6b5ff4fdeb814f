locals {
  ignored = ["promt", "env"]
}

session "api" {
  agent  = "claude"
  branch = "agents/api"
  lifecycle {
    ignore_changes       = [statefulset.spec.replicas, statefulset.metadata, promt, health.intervall, lifecycle, count]
    prevent_destroy      = "sure"
    replace_triggered_by = "x"
  }
}

session "web" {
  agent  = "claude"
  branch = "agents/web"
  lifecycle {
    ignore_changes = local.ignored
  }
}
