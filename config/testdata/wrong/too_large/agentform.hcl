locals {
  n       = range(1000)
  product = setproduct(local.n, local.n, local.n)
  wide    = format("%-1000000000d", 1)
  narrow  = formatlist("%.99999s", ["x"])
  t0 = "0123456789abcdef"
  t1 = "${local.t0}${local.t0}${local.t0}${local.t0}${local.t0}${local.t0}${local.t0}${local.t0}"
  t2 = "${local.t1}${local.t1}${local.t1}${local.t1}${local.t1}${local.t1}${local.t1}${local.t1}"
  t3 = "${local.t2}${local.t2}${local.t2}${local.t2}${local.t2}${local.t2}${local.t2}${local.t2}"
  t4 = "${local.t3}${local.t3}${local.t3}${local.t3}${local.t3}${local.t3}${local.t3}${local.t3}"
  t5 = "${local.t4}${local.t4}${local.t4}${local.t4}${local.t4}${local.t4}${local.t4}${local.t4}"
  t6 = "${local.t5}${local.t5}${local.t5}${local.t5}${local.t5}${local.t5}${local.t5}${local.t5}"
  t7 = "${local.t6}${local.t6}${local.t6}${local.t6}${local.t6}${local.t6}${local.t6}${local.t6}"
  t8 = "${local.t7}${local.t7}${local.t7}${local.t7}${local.t7}${local.t7}${local.t7}${local.t7}"
  t9 = "${local.t8}${local.t8}${local.t8}${local.t8}${local.t8}${local.t8}${local.t8}${local.t8}"
  l0 = [local.n, local.n]
  l1 = [local.l0, local.l0, local.l0, local.l0, local.l0, local.l0, local.l0, local.l0, local.l0, local.l0]
  l2 = [local.l1, local.l1, local.l1, local.l1, local.l1, local.l1, local.l1, local.l1, local.l1, local.l1]
  l3 = [local.l2, local.l2, local.l2, local.l2, local.l2, local.l2, local.l2, local.l2, local.l2, local.l2]
  l4 = [local.l3, local.l3, local.l3, local.l3, local.l3, local.l3, local.l3, local.l3, local.l3, local.l3]
  l5 = [local.l4, local.l4, local.l4, local.l4, local.l4, local.l4, local.l4, local.l4, local.l4, local.l4]
}

session "api" {
  agent  = "claude"
  branch = local.wide
}
