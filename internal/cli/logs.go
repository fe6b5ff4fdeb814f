package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/internal/view"
	"github.com/agentform/agentform/session"
)

// transcriptFile is the name of the transcript in a session's folder.
const transcriptFile = "transcript.log"

// lookAgain is how long a command that follows waits before it looks whether
// something was added.
const lookAgain = 250 * time.Millisecond

func (a *app) logsCommand() *cobra.Command {
	var follow bool
	c := &cobra.Command{
		Use:   "logs ADDR",
		Short: "Print the session's transcript",
		Long: `Prints the session's transcript: its screen at each change of its state, with time and
reason. What it shows right now is for capture; the conversation itself is kept by
the agent.`,
		Example: `  agentform logs api
  agentform logs api -f`,
		Args:              cobra.ExactArgs(1),
		Annotations:       withJSON(),
		ValidArgsFunction: a.completeAddresses(1),
		RunE: func(c *cobra.Command, args []string) error {
			if follow && a.globals.json {
				return usageError{c.CommandPath(), errors.New("--json prints what there is: leave --follow out")}
			}
			return a.runLogs(c.Context(), args[0], follow)
		},
	}
	c.Flags().BoolVarP(&follow, "follow", "f", false, "go on with what is added, until interrupted")
	a.fileWithoutShorthand(c)
	return c
}

func (a *app) runLogs(ctx context.Context, typed string, follow bool) error {
	p, s, err := a.recorded()
	if err != nil {
		return err
	}
	address, err := resolveOne(addresses(p.manifest.Sessions, s.Sessions), typed)
	if err != nil {
		return err
	}
	r := find(s.Sessions, address)
	if r == nil {
		return fmt.Errorf("%s was never live: there is nothing to tell", address)
	}
	path := filepath.Join(p.folder(*r), transcriptFile)
	if a.globals.json {
		text, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("read the transcript: %w", err)
		}
		return view.TextJSON(a.env.Stdout, address, string(text))
	}
	if !follow {
		return a.printTranscript(path, address)
	}
	return a.followTranscript(ctx, path)
}

func (a *app) printTranscript(path string, of session.Address) error {
	n, err := copyFrom(a.env.Stdout, path, 0)
	if err == nil && n == 0 {
		fmt.Fprintf(a.env.Stderr, "No transcript yet. The screen now: agentform capture %s\n", quoted(of))
	}
	return err
}

func (a *app) followTranscript(ctx context.Context, path string) error {
	ctx, stop := untilInterrupted(ctx)
	defer stop()
	tick := time.NewTicker(lookAgain)
	defer tick.Stop()
	var at int64
	for {
		n, err := copyFrom(a.env.Stdout, path, at)
		if err != nil {
			return err
		}
		at += n
		select {
		case <-ctx.Done():
			return outcome(exitInterrupted)
		case <-tick.C:
		}
	}
}

// copyFrom writes a file's text from an offset on, made safe for a terminal,
// and returns how many bytes of the file that was. A file that is shorter than
// the offset was begun anew and is written whole; one that is not there is
// empty.
func copyFrom(w io.Writer, path string, at int64) (int64, error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read the transcript: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, fmt.Errorf("read the transcript: %w", err)
	}
	begun := at
	if info.Size() < at {
		begun = 0
	}
	text, err := io.ReadAll(io.NewSectionReader(f, begun, info.Size()-begun))
	if err != nil {
		return 0, fmt.Errorf("read the transcript: %w", err)
	}
	if _, err := io.WriteString(w, view.Safe(string(text))); err != nil {
		return 0, err
	}
	return info.Size() - at, nil
}
