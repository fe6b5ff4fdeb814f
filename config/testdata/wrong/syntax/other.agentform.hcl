session "fine" {
  agnet = "claude"
}
