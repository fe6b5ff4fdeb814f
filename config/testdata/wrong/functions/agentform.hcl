session "api" {
  agent  = "claude"
  branch = uper("x")
  prompt = file("prompts/api.md")
  args   = [file("../../outside"), env("NOT_SET"), templatefile("t.tpl", { a = 1 }), file("link")]
}

session "more" {
  agent  = "claude"
  branch = sensitive("swordfish")
  prompt = tostring(parseint(sensitive("swordfish"), 10))
  labels = { a = one(["a", "b"]), b = base64decode("=") }
  args   = [base64decode("/w=="), tostring(sum([1, null])), alltrue("x"), one(toset(["a", "b"]))]
}

session "web" {
  agent  = "claude"
  branch = substr("x")
  prompt = regex("[", "x")
  labels = { a = lookup({ x = 1 }, "y"), b = jsondecode("{") }
}

session "terraform" {
  agent  = "claude"
  branch = index(["a"], "b")
  prompt = yamldecode("a: [1")
  labels = { a = timecmp("now", "2026-01-02T03:04:05Z"), b = lookup({ a = "b" }, "a", 1, 2) }
  args = [
    uuidv5("nowhere", "a"), fileexists("../outside"), fileexists("."), filesha256("none"), templatestring("$${b}", { a = 1 }),
    abspath("a"), lookup(tomap({ x = 1 }), "y"), transpose({ a = [null] })["a"][0], matchkeys(["a"], [], [])[0],
  ]
}
