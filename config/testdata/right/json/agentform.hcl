session "extra" {
  agent      = "codex"
  branch     = "${var.prefix}/extra"
  depends_on = [session.worker["api"]]
}
