session "a" {
  agent      = "claude"
  branch     = "a"
  depends_on = [session.b]
}

session "b" {
  for_each   = toset(["x", "y"])
  agent      = "claude"
  branch     = "b-${each.key}"
  depends_on = [session.c]
}

session "c" {
  agent  = "claude"
  branch = "c"
  depends_on = [
    session.b["x"],
    session.a,
  ]
}

session "self" {
  agent      = "claude"
  branch     = "self"
  depends_on = [session.self]
}
