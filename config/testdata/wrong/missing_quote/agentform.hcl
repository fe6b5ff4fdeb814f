agent "a" {
  command = [sh;]
}

session "api" {
  agent  = agent.a
  branch = "agents/api
  prompt = "Make it work."
  env    = { A = "b", C = "d" }
}

session "web" {
  agent  = agent.a
  branch = "agents/web"
}
