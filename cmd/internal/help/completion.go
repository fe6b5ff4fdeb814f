package help

import (
	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/flags"
)

// Completion sets agentform's texts for cobra's command completion. args checks its arguments.
func Completion(root *cobra.Command, args cobra.PositionalArgs) {
	root.InitDefaultCompletionCmd()
	c, _, err := root.Find([]string{"completion"})
	if err != nil {
		return // cobra no longer has that command
	}
	c.Short, c.Long = "Print a completion script for a shell", "Prints a script that completes commands, flags, addresses and manifest paths in a shell.\nThe one for bash needs the package bash-completion."
	c.Example = `  source <(agentform completion bash)
  agentform completion zsh > "${fpath[1]}/_agentform"
  agentform completion fish > ~/.config/fish/completions/agentform.fish`
	c.Args = args
	c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	for _, shell := range c.Commands() {
		x := shells[shell.Name()]
		shell.Short, shell.Long, shell.Example = "Print the completion script for "+shell.Name(), x.long, x.example
		shell.Args = flags.Arguments(0, 0)
	}
}

var shells = map[string]struct{ long, example string }{
	"bash": {"Prints the completion script for bash. It needs the package bash-completion. A new shell has it.", `  source <(agentform completion bash)
  agentform completion bash | sudo tee /etc/bash_completion.d/agentform
  agentform completion bash > $(brew --prefix)/etc/bash_completion.d/agentform`},
	"zsh": {"Prints the completion script for zsh. Completion must be on, once: autoload -U compinit; compinit. A new shell has it.", `  source <(agentform completion zsh)
  agentform completion zsh > "${fpath[1]}/_agentform"
  agentform completion zsh > $(brew --prefix)/share/zsh/site-functions/_agentform`},
	"fish": {"Prints the completion script for fish. A new shell has it.", `  agentform completion fish | source
  agentform completion fish > ~/.config/fish/completions/agentform.fish`},
	"powershell": {"Prints the completion script for PowerShell. To have it in each shell, add its output to your profile.",
		"  agentform completion powershell | Out-String | Invoke-Expression"},
}
