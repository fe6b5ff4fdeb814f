locals {
  n       = range(1000)
  product = setproduct(local.n, local.n, local.n)
  wide    = format("%-1000000000d", 1)
  narrow  = formatlist("%.99999s", ["x"])
  t0      = "0123456789abcdef"
  t1      = "${local.t0}${local.t0}${local.t0}${local.t0}${local.t0}${local.t0}${local.t0}${local.t0}"
  t2      = join("", [local.t1, local.t1, local.t1, local.t1, local.t1, local.t1, local.t1, local.t1])
  t3      = replace(local.t2, "/[0-7]/", local.t2)
  t4      = "${local.t3}${local.t3}${local.t3}${local.t3}${local.t3}${local.t3}${local.t3}${local.t3}"
  t5      = "${local.t4}${local.t4}${local.t4}${local.t4}${local.t4}${local.t4}${local.t4}${local.t4}"
  l0      = [local.n, local.n]
  l1      = [local.l0, local.l0, local.l0, local.l0, local.l0, local.l0, local.l0, local.l0, local.l0, local.l0]
  l2      = [local.l1, local.l1, local.l1, local.l1, local.l1, local.l1, local.l1, local.l1, local.l1, local.l1]
}

# In one function, with nothing left of it.
locals {
  joined   = join(local.t2, range(1000))
  flat     = flatten([local.l1, local.l1, local.l1, local.l1, local.l1, local.l1, local.l1])
}

session "api" {
  agent  = "claude"
  branch = "agents/api"
}
