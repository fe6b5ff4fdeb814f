package cli

import (
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/action/choose"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/config"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

type completion = func(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective)

func completeAddresses(a *app, most int) completion {
	return func(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= most || a.setup(c, nil) != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		p := a.Open()
		s, _ := state.Read(p.State) // unreadable: the manifest's addresses are left
		var found []string
		for _, address := range choose.Addresses(p.Manifest.Sessions, s.Sessions) {
			typedForms := choose.Forms(address)
			if slices.ContainsFunc(typedForms, func(form string) bool { return slices.Contains(args, form) }) {
				continue
			}
			for _, form := range typedForms {
				if strings.HasPrefix(form, typed) {
					found = append(found, cobra.CompletionWithDesc(form, choose.Describe(project.Find(s.Sessions, address))))
					break
				}
			}
		}
		return found, cobra.ShellCompDirectiveNoFileComp
	}
}

func completeWords(a *app, words func(*config.Manifest, []session.Spec) []string) completion {
	return func(c *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		if a.setup(c, nil) != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		p := a.Open()
		s, _ := state.Read(p.State) // unreadable: the manifest's are left
		specs := slices.Clone(p.Manifest.Sessions)
		for _, r := range s.Sessions {
			specs = append(specs, r.Spec)
		}
		found := slices.DeleteFunc(words(p.Manifest, specs), func(word string) bool { return !strings.HasPrefix(word, typed) })
		slices.Sort(found)
		return slices.Compact(found), cobra.ShellCompDirectiveNoFileComp
	}
}

func completeRoles(a *app) completion {
	return completeWords(a, func(_ *config.Manifest, specs []session.Spec) []string { return choose.Roles(specs) })
}

func completeLabels(a *app) completion {
	return completeWords(a, func(_ *config.Manifest, specs []session.Spec) []string { return choose.Labels(specs) })
}

func completeAgents(a *app) completion {
	return completeWords(a, func(m *config.Manifest, _ []session.Spec) []string { return slices.Collect(maps.Keys(m.Agents)) })
}

func words(list ...string) completion {
	return cobra.FixedCompletions(list, cobra.ShellCompDirectiveNoFileComp)
}

func completeFlag(c *cobra.Command, flag string, by completion) {
	_ = c.RegisterFlagCompletionFunc(flag, by) // fails only for a flag that does not exist
}
