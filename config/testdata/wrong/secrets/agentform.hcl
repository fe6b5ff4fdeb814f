session "api" {
  agent   = "claude"
  branch  = "agents/api"
  env     = { OPENAI_API_KEY = "x", AGENTFORM_RUN = "1" }
  secrets = ["OPENAI_API_KEY"]
}

session "web" {
  agent   = "claude"
  branch  = "agents/web"
  env     = { OPENAI_API_KEY = "x" }
  secrets = ["OPENAI_API_KEY"]
}

session "value" {
  agent   = "claude"
  branch  = "agents/value"
  secrets = ["sk-ant-12345"]
}
