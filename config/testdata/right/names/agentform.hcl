session "ключ" {
  agent  = "claude"
  branch = "agents/ключ"
}

session "w" {
  for_each = {
    "a.b"        = "one"
    "a_b"        = "two"
    "with \"q\"" = "three"
    "a b/c"      = "four"
  }
  agent  = "claude"
  branch = "w/${each.value}"
}
