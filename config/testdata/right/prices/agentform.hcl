agentform {
  price_file = "prices.json"
}

locals {
  discount = 0.8
}

price "claude-opus-4-8" {
  input          = 5 * local.discount
  output         = 25 * local.discount
  cache_read     = 0.5
  cache_write    = 6.25
  cache_write_1h = 10
}

price "gpt-5.5" {
  input  = 5
  output = 30
  long {
    above  = 272000
    input  = 10
    output = 45
  }
  long {
    above  = 600000
    input  = 20
    output = 90
  }
}

session "api" {
  agent  = "claude"
  branch = "agents/api"
}
