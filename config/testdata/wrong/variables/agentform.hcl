variable "areas" {
  type = list(string)
}

variable "prefix" {
  type = string
}

variable "count" {
  type = number
}

variable "small" {
  type    = number
  default = 3

  validation {
    condition     = var.small < 3
    error_message = "Only ${var.small - 1} are allowed."
  }
}

variable "strict" {
  type     = string
  default  = null
  nullable = false
}

variable "kind" {
  type    = strng
  default = upper("x")
}

variable "level" {
  type    = number
  default = 12

  validation {
    condition     = var.level < 10 && var.level != var.count
    error_message = "The level must be under 10."
  }
}

variable "half" {
  default = 1
  validation {
    condition = var.half > 0
  }
}

session "api" {
  agent  = "claude"
  branch = "${var.prefix}/api"
}
