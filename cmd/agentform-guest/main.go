// Agentform-guest is the parent process of one agent: see package guest. It is
// started by agentform and not by people.
package main

import (
	"os"

	"github.com/agentform/agentform/internal/guest"
)

func main() { os.Exit(guest.Main(os.Args[1:])) }
