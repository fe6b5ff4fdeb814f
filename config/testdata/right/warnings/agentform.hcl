agent "c" {
  command     = ["mine"]
  permissions = "ask"
}

session "api" {
  agent  = "c"
  branch = "api"
}
