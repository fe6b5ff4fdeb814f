session "api" {
  agent   = "claude"
  branch  = "agents/api"
  desired = "runing"
  restart {
    policy = "on_failure"
  }
  health {
    on_unhealthy = "panic"
    failures     = 0
  }
  pause {
    mode = "frozen"
  }
  stop {
    signal = "SIGTREM"
  }
  workspace {
    mode       = "work_tree"
    on_destroy = "delete"
  }
}
