package main

import (
	"errors"
	"fmt"
	"os"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "manual:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return errors.New("usage: manual man DIR | manual reference FILE")
	}
	switch what, path := args[0], args[1]; what {
	case "man":
		return writePages(path)
	case "reference":
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		made, err := withReference(string(text))
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		return os.WriteFile(path, []byte(made), 0o644)
	default:
		return fmt.Errorf("%q: must be man or reference", what)
	}
}
