session "a" {
  agent      = "claude"
  branch     = "a"
  depends_on = [session.databse, session.w["wbe"], session.p[7], session.b[0], "session.b", 3]
}

session "b" {
  agent      = "claude"
  branch     = "b"
  prompt     = session.a.branch
  depends_on = session.a.branch
}

session "w" {
  for_each = toset(["web", "api"])
  agent    = "claude"
  branch   = "w-${each.key}"
  depends_on = [session.database, session.p[each.key]]
}

session "p" {
  count  = 2
  agent  = "claude"
  branch = "p-${count.index}"
}

session "database" {
  agent  = "claude"
  branch = "db"
}
