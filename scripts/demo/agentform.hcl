agent "scripted" {
  command = ["sh", "agent.sh"]
  ready   = "ready>"
  patterns {
    working = ["working"]
    blocked = ["\\(y/n\\)"]
  }
}

session "api" {
  agent  = agent.scripted
  branch = "agents/api"
  prompt = "write api.txt"
}

session "web" {
  agent  = agent.scripted
  branch = "agents/web"
  prompt = "write web.txt"
}
