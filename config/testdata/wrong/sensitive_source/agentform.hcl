variable "token" {
  type      = number
  sensitive = true
}
