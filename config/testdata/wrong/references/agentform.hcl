variable "prefix" {
  default = "agents"
}

locals {
  areas = ["api"]
  bad   = "${var.prefx}/x"
  early = each.key
}

session "api" {
  agent   = "claude"
  branch  = "${var.prefx}/api"
  role    = each.key
  prompt  = "${local.area} ${areas} ${foo} ${path.cwd} ${count.index} ${vra.prefix}"
  profile = self.brunch
}
