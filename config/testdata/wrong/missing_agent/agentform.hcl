session "api" {
  branch = "agents/api"
}
