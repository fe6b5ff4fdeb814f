agent "c" {
  command     = ["mine"]
  permissions = "ask"
  prompt_via  = "none"
}

session "api" {
  agent  = "c"
  branch = "api"
  prompt = "Hello."
}
