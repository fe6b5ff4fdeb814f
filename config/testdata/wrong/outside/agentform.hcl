branch = "x"
session = "api"

locals "x" {
  a = 1
}
