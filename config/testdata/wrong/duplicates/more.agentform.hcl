session "api" {
  agent  = "claude"
  branch = "api2"
}
