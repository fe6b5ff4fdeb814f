locals {
  list = ["a", "b"]
}

session "a" {
  for_each = local.list
  agent    = "claude"
  branch   = "a-${each.key}"
}

session "b" {
  for_each = toset([1, 2])
  agent    = "claude"
  branch   = "b-${each.key}"
}

session "c" {
  for_each = "abc"
  agent    = "claude"
  branch   = "c-${each.key}"
}

session "d" {
  for_each = null
  agent    = "claude"
  branch   = "d-${each.key}"
}

session "e" {
  for_each = { x = { area = "api" }, y = {} }
  agent    = "claude"
  branch   = "e-${each.value.area}"
}

session "f" {
  for_each = toset(["a", null])
  agent    = "claude"
  branch   = "f-${each.key}"
}

session "g" {
  for_each = toset([1])
  agent    = "claude"
  branch   = "g-${each.key}"
}
