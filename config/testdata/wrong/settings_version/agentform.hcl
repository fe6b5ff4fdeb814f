agentform {
  required_version = "new"
}
