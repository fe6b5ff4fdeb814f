package tmux_test

import (
	"fmt"

	"github.com/agentform/agentform/tmux"
)

func ExampleInside() {
	fmt.Println(tmux.Inside([]string{"HOME=/home/you", "TMUX=/tmp/tmux-1000/default,4711,0"}))
	fmt.Println(tmux.Inside([]string{"HOME=/home/you"}))
	// Output:
	// true
	// false
}
