locals {
  a = "${local.b}-${local.c}"
  b = local.c
  c = upper(local.a)
  d = local.d
  e = "fine ${local.a}"
}

session "api" {
  agent  = "claude"
  branch = local.e
}
