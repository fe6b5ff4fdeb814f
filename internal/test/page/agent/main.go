// Command agent is package fakeagent as a program, for the fleet that the tests of the page
// show.
package main

import (
	"os"

	"github.com/agentform/agentform/internal/test/fakeagent"
)

func main() { os.Exit(fakeagent.Main()) }
