session "api" {
  agent  = "claude"
  branch = uper("x")
  prompt = file("prompts/api.md")
  args   = [file("../../outside"), env("NOT_SET"), templatefile("t.tpl", { a = 1 }), file("link")]
}

session "web" {
  agent  = "claude"
  branch = substr("x")
  prompt = regex("[", "x")
  labels = { a = lookup({ x = 1 }, "y"), b = jsondecode("{") }
}
