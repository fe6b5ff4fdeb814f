variable "area" {
  default = "Api!"

  validation {
    condition     = can(regex("^[a-z]+$", var.area))
    error_message = "An area is a lower-case word."
  }
}

variable "areas" {
  type    = set(string)
  default = ["ok"]

  validation {
    condition     = length(var.areas) > 3
    error_message = "Too few."
  }
}

variable "token" {
  sensitive = true
  default   = "abcd"

  validation {
    condition     = length(var.token) > 8
    error_message = "Too short."
  }
}

variable "number" {
  type    = number
  default = "x"
}

session "tuple" {
  for_each = toset([var.area])
  agent    = "claude"
  branch   = "tuple/${each.key}"
  prompt   = upper(var.token)
  role     = each.value
  labels   = { key = self.key, area = var.area, sum = "${var.number + 1}" }
  desired  = "up"
}

session "set" {
  for_each = var.areas
  agent    = "claude"
  branch   = "set/${each.key}"
  prompt   = "The token is ${var.token}"
  priority = "high"
}

session "listed" {
  for_each   = ["a"]
  agent      = "claud"
  branch     = each.key
  prompt     = 3 / 0
  depends_on = [session.set["a"], session.tuple]
}

session "counted" {
  count  = var.number
  agent  = "claude"
  branch = "c-${count.index}"
  args   = var.token
}

output "keys" {
  value = { for k, s in session.tuple : k => s.branch }
}
