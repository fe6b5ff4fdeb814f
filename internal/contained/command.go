package contained

// InDir returns the command line that runs a command in a directory.
func InDir(dir string, argv ...string) []string {
	return append([]string{"sh", "-c", `cd "$1" && shift && exec "$@"`, "sh", dir}, argv...)
}
