# Three agents on three branches, each in a worktree of its own. The agent is a
# small script, so nothing but git and tmux is needed:
#
#   agentform -f examples/quickstart.hcl plan
#   agentform -f examples/quickstart.hcl apply
#   agentform -f examples/quickstart.hcl destroy

agentform {
  project  = "quickstart"
  data_dir = ".agentform/quickstart" # its own, so that the examples leave each other alone
}

agent "scripted" {
  command    = ["sh", "${path.module}/agents/scripted.sh"]
  prompt_via = "argument"
  ready      = "Tell me more"

  patterns {
    blocked = ["\\(y/n\\)"]
  }
}

session "api" {
  agent  = agent.scripted
  branch = "quickstart/api"
  prompt = "write down what the API promises"

  workspace {
    on_destroy = "remove_clean"
  }
}

session "web" {
  agent  = agent.scripted
  branch = "quickstart/web"
  prompt = "list the pages that are missing"

  workspace {
    on_destroy = "remove_clean"
  }
}

session "docs" {
  agent      = agent.scripted
  branch     = "quickstart/docs"
  prompt     = "describe what api and web agreed on"
  depends_on = [session.api, session.web]

  workspace {
    on_destroy = "remove_clean"
  }
}
