package opener

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentform/agentform/cmd/internal/owner"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/cmd/internal/streams"
	"github.com/agentform/agentform/internal/backend"
	"github.com/agentform/agentform/internal/sharedstate"
	"github.com/agentform/agentform/session"
)

// deciding are the commands that need the current shared state: others use the copy if the backend
// is unreachable. Commands that change sessions lock and read the state.
var deciding = []string{"plan", "drift", "apply", "destroy", "state", "land", "prune"}

// withCopy are the commands that act on sessions of this machine, without the backend.
var withCopy = []string{"attach", "send", "answer", "capture", "path", "exec", "logs", "events", "diff", "services", "serve", "doctor", "next", "validate", "graph", "explain", "output"}

// Pull updates the copy of a shared state, once.
func (o *Opener) Pull(p *project.Project) error {
	if o.pulled != nil {
		return *o.pulled
	}
	if err := owner.CheckUser(p.Manifest.DataDir); err != nil { // otherwise the error would be the unreadable file
		return err
	}
	words := strings.Fields(o.Command + " ?")
	if p.Stored.Shared() && slices.Contains(withCopy, words[1]) {
		return nil
	}
	if p.Stored.Shared() && o.Attended() {
		defer time.AfterFunc(2*time.Second, func() { fmt.Fprintln(o.Err, "The shared state: no answer yet…") }).Stop()
	}
	err := p.Stored.Pull(o.Context)
	if _, unreachable := errors.AsType[*sharedstate.UnreachableError](err); unreachable && !slices.Contains(deciding, words[1]) {
		o.Warn([]session.Diagnostic{{Severity: session.Warning, Summary: "the shared state was not read",
			Detail: err.Error() + "\nthis is what this machine knew last"}})
		err = nil
	}
	o.pulled = &err
	return err
}

// Attended reports whether a user sees standard error.
func (o *Opener) Attended() bool { return streams.IsTerminal(o.Err) && o.Command != "agentform ui" }

// slow returns a function that reports each slow runtime once; nil: nobody is watching.
func (o *Opener) slow() func(session.RuntimeSpec) {
	if !o.Attended() {
		return nil
	}
	var told sync.Map
	return func(r session.RuntimeSpec) {
		name := strings.TrimSuffix("runtime."+r.Kind+"."+r.Name, ".")
		if _, again := told.LoadOrStore(name, true); !again {
			fmt.Fprintf(o.Err, "%s: no answer yet…\n", name)
		}
	}
}

// waiting returns a function that reports who holds the lock of the shared state: at once, and
// again every ten seconds.
func (o *Opener) waiting() func(backend.Info) {
	var told time.Time
	return func(i backend.Info) {
		if time.Since(told) < 10*time.Second {
			return
		}
		told = time.Now()
		fmt.Fprintf(o.Err, "Waiting for the state's lock.\n%s\n", sharedstate.Describe(i, told))
	}
}
