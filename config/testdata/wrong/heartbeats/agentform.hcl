session "a" {
  agent  = "claude"
  branch = "a"
  health {
    heartbeat {
      command = ["true"]
      key     = "F12"
    }
  }
}

session "b" {
  agent  = "claude"
  branch = "b"
  health {
    heartbeat {
      key = "press this"
    }
  }
}

session "c" {
  agent  = "claude"
  branch = "c"
  health {
    heartbeat {
    }
  }
}
