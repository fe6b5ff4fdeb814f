agentform {
  required_version = ">= 2.0"
  project          = "→"
  data_dir         = "."
  outputs_dir      = ".."
  history_keep     = "a month"
  parallelism      = 0
  max_running      = "all"
}
