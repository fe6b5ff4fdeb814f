session "api" {
  agent  = "claude"
  branch = "agents/api"
  role   = "../../etc"
  prompt = ""
  profile = "a\u0000b"
}
