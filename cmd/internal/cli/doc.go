// Package cli is agentform's command line: one file a command, each from flags
// to options to a run of what the lower packages do.
//
// Nothing here decides, looks or formats: reconcile and plan decide, observe
// looks, cmd/internal/view prints. What is here is which of them a command needs,
// how a person is asked, and what a failure is as an exit code.
package cli
