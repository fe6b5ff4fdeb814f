agent "mine" {
  command = ["mine"]
  ready   = "[a-"
  patterns {
    done    = ["ok", "(("]
    blocked = ["approve\\?"]
  }
}
