package help

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// otherNames returns the names of commands in tmux, docker, kubectl, Terraform, git and others.
func otherNames() map[string][]string {
	return map[string][]string{
		"apply":        {"up", "create", "deploy"},
		"destroy":      {"down", "rm", "remove", "delete"},
		"start":        {"start-session"},
		"stop":         {"end", "end-session", "interrupt", "cancel", "kill-session"},
		"stop --all":   {"stop-all", "shutdown"},
		"restart":      {"restart-session", "taint", "recreate", "rollout"},
		"pause":        {"suspend", "freeze"},
		"pause --all":  {"pause-all"},
		"resume":       {"unpause", "continue"},
		"resume --all": {"resume-all"},
		"run":          {"new", "new-session", "spawn"},
		"adopt":        {"import"},
		"show":         {"info"},
		"status":       {"get", "list-sessions", "sessions"},
		"logs":         {"transcript"},
		"events":       {"history"},
		"capture":      {"capture-pane", "screen"},
		"send":         {"type", "tell", "send-keys", "prompt"},
		"answer":       {"approve", "reply", "allow", "deny"},
		"attach":       {"connect", "enter", "attach-session", "switch", "checkout"},
		"serve":        {"daemon", "supervise"},
		"doctor":       {"check", "notify"},
		"validate":     {"lint"},
		"fmt":          {"format"},
		"prune":        {"clean", "gc"},
		"land":         {"merge", "integrate"},
		"fetch":        {"pull"},
		"diff":         {"changes", "compare"},
		"path":         {"cd", "pwd", "dir", "where", "worktree"},
		"exec":         {"shell", "ssh"},
		"watch":        {"top"},
		"state mv":     {"mv", "rename"},
		"state rm":     {"forget"},
	}
}

// Suggestions returns names of subcommands that the user may have meant.
func Suggestions(c *cobra.Command, typed string) []string {
	if !c.HasParent() {
		word := strings.ReplaceAll(strings.ToLower(typed), "_", "-")
		for name, others := range otherNames() {
			if slices.Contains(others, word) {
				return []string{name}
			}
		}
	}
	c.SuggestionsMinimumDistance = min(2, 1+len(typed)/6) // two edits make another word of a shorter one
	near := c.SuggestionsFor(typed)
	for _, other := range c.Commands() {
		if other.IsAvailableCommand() && swapped(strings.ToLower(typed), other.Name()) && !slices.Contains(near, other.Name()) {
			near = append(near, other.Name())
		}
	}
	return near
}

func swapped(a, b string) bool {
	for i := 1; i < min(len(a), len(b)); i++ {
		if a[:i-1]+a[i:i+1]+a[i-1:i]+a[i+1:] == b {
			return a != b
		}
	}
	return false
}
