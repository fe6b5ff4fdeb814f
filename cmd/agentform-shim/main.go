// A shim uses one processor, and is started once for each agent: it does not ask the
// machine how many it may use.
//
//go:debug containermaxprocs=0
//go:debug updatemaxprocs=0

// Agentform-shim is the parent process of one agent: see package program. agentform starts it;
// users do not.
package main

import (
	"os"

	"github.com/agentform/agentform/internal/shim/program"
)

func main() { os.Exit(program.Main(os.Args[1:])) }
