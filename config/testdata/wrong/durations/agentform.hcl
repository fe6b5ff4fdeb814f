variable "d" {
  default = "4 hours"
}

session "api" {
  agent   = "claude"
  branch  = "agents/api"
  timeout = var.d
  health {
    interval   = 10
    timeout    = "0s"
    hung_after = "-3m"
  }
  stop {
    grace = "99999999999d"
  }
  restart {
    backoff {
      initial = "10m"
      max     = "5m"
      factor  = 0.5
      jitter  = 25
    }
  }
}
