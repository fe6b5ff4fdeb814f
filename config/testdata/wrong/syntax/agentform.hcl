session "api" {
  agent  = "claude"
  branch = 
}

session "web" {
  agent = "claude"
  branch = "x
}
