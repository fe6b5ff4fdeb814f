# What the hub has to know. The sessions come from the state.
agentform {
  project = "agents"

  backend "kubernetes" {
    namespace = "agents"
  }
}
