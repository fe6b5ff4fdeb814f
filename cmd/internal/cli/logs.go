package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/layout"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/sessionfile"
	"github.com/agentform/agentform/session"
)

func logsCommand(a *app) *cobra.Command {
	var o logsOptions
	c := &cobra.Command{
		Use:     "logs ADDR",
		Aliases: []string{"log"},
		Short:   "Show an agent's conversation log",
		Long: `Prints prompts, tool calls, answers, errors and token use from the agent's session file. If
there is none, or with --screen, it prints the recorded screens: one for each change of
state, with time and reason. See capture for the current screen.`,
		Example: `  agentform logs api
  agentform logs api -f
  agentform logs api -n 20
  agentform logs api --screen`,
		RunE: func(c *cobra.Command, args []string) error {
			if o.follow && a.globals.json {
				return usageError{c.CommandPath(), errors.New("--json prints existing entries: omit --follow")}
			}
			if err := o.tail.check(); err != nil {
				return usageError{c.CommandPath(), err}
			}
			run := func() error { return runLogs(c.Context(), a, args[0], o) }
			if o.follow {
				return run()
			}
			return paged(a, run)
		},
	}
	c.Flags().BoolVarP(&o.follow, "follow", "f", false, "follow new output")
	c.Flags().BoolVar(&o.screen, "screen", false, "print the recorded screens instead of the session file")
	o.tail.register(c, "entries, or lines of the screens")
	fileWithoutShorthand(a, c)
	return c
}

type logsOptions struct {
	follow, screen bool
	tail           tailFlag
}

type tailFlag struct{ most int }

func (t *tailFlag) register(c *cobra.Command, things string) {
	c.Flags().IntVarP(&t.most, "tail", "n", -1, "print only the last `N` "+things+" (-1: all)")
}

func (t tailFlag) check() error {
	if t.most < -1 {
		return errors.New("--tail: must be 0 or more; -1 prints all")
	}
	return nil
}

func last[T any](t tailFlag, items []T) []T {
	if t.most < 0 || t.most >= len(items) {
		return items
	}
	return items[len(items)-t.most:]
}

func runLogs(ctx context.Context, a *app, typed string, o logsOptions) error {
	p, s, err := a.openState()
	if err != nil {
		return err
	}
	address, err := resolveOne(addresses(p.Manifest.Sessions, s.Sessions), typed)
	if err != nil {
		return err
	}
	r := project.Find(s.Sessions, address)
	if r == nil {
		return fmt.Errorf("%s never ran: it has no log", address)
	}
	if !o.screen {
		if printed, err := printEntries(ctx, a, p, *r, o); printed || err != nil {
			return err
		}
	}
	path := filepath.Join(p.SessionDir(*r), history.TranscriptName)
	if a.globals.json {
		text, _, err := transcriptEnd(path)
		if err != nil {
			return err
		}
		return view.TextJSON(a.env.Stdout, address, lastLines(o.tail, text))
	}
	n, err := printTranscript(a.env.Stdout, path, o.tail)
	if err != nil {
		return err
	}
	if o.follow {
		return followTranscript(ctx, a.env.Stdout, path, n)
	}
	if n == 0 {
		fmt.Fprintf(a.env.Stderr, "No log yet. For the screen: agentform capture %s\n", quoted(address))
	}
	return nil
}

func lastLines(t tailFlag, text string) string {
	return strings.Join(last(t, slices.Collect(strings.Lines(text))), "")
}

// printTranscript returns how many bytes of the newest file it read.
func printTranscript(w io.Writer, path string, tail tailFlag) (n int64, err error) {
	if tail.most >= 0 {
		text, n, err := transcriptEnd(path)
		if err == nil {
			_, err = io.WriteString(w, plaintext.Safe(lastLines(tail, text)))
		}
		return n, err
	}
	for _, file := range transcripts(path) {
		if n, err = printFrom(w, file, 0); err != nil {
			return n, err
		}
	}
	return n, nil
}

// followTranscript prints the rest of a file that was rotated first.
func followTranscript(ctx context.Context, w io.Writer, path string, at int64) error {
	return poll(ctx, func() error {
		if info, err := os.Stat(path); err == nil && info.Size() < at {
			if _, err := printFrom(w, path+".1", at); err != nil {
				return err
			}
			at = 0
		}
		n, err := printFrom(w, path, at)
		at += n
		return err
	})
}

// transcripts returns the files of a transcript, the oldest first. apply rotates them.
func transcripts(path string) []string { return []string{path + ".3", path + ".2", path + ".1", path} }

// transcriptEnd returns more than is shown, so that its caller knows that there was more.
func transcriptEnd(path string) (text string, newest int64, err error) {
	for _, file := range slices.Backward(transcripts(path)) {
		part, size, err := readEnd(file, 0, int64(2*session.TailLimit-len(text)))
		if err != nil {
			return "", 0, err
		}
		if text = part + text; file == path {
			newest = size
		}
	}
	return text, newest, nil
}

// maxPrinted exceeds every transcript that agentform writes.
const maxPrinted = 64 << 20

// printFrom returns how many bytes were added since the offset.
func printFrom(w io.Writer, path string, at int64) (int64, error) {
	text, size, err := readEnd(path, at, maxPrinted)
	if err != nil || size <= at {
		return 0, err
	}
	_, err = io.WriteString(w, plaintext.Safe(text))
	return size - at, err
}

// readEnd also returns the file's size. A file that does not exist is empty.
func readEnd(path string, at, most int64) (text string, size int64, err error) {
	f, err := layout.OpenRegular(path, syscall.O_NOFOLLOW)
	if errors.Is(err, os.ErrNotExist) {
		return "", 0, nil
	}
	if err != nil {
		return "", 0, fmt.Errorf("read the transcript: %w", err)
	}
	defer f.Close()
	if size, err = f.Seek(0, io.SeekEnd); err != nil {
		return "", 0, fmt.Errorf("read the transcript: %w", err)
	}
	from := max(min(at, size), size-most)
	b, err := io.ReadAll(io.NewSectionReader(f, from, size-from))
	if err != nil {
		return "", 0, fmt.Errorf("read the transcript: %w", err)
	}
	return string(b), size, nil
}

// printEntries reports false if the agent has no session file yet.
func printEntries(ctx context.Context, a *app, p *project.Project, r session.Record, o logsOptions) (printed bool, err error) {
	adapter, of := agent.For(r.Spec.Agent), p.Activity().Lookup(r)
	var reader sessionfile.Reader
	transcript, err := reader.Read(adapter, r.Run.ID, of)
	if err != nil {
		return false, fmt.Errorf("read the session file of %s: %w", r.Address, err)
	}
	if transcript == nil {
		return false, nil
	}
	lines, place, cut, err := reader.More(adapter, r.Run.ID, of, nil)
	if err != nil {
		return false, err
	}
	entries := sessionfile.Entries(adapter, lines)
	if len(entries) == 0 && !o.follow {
		return false, nil
	}
	all := len(entries)
	entries = last(o.tail, entries)
	if a.globals.json {
		return true, view.EntriesJSON(a.env.Stdout, r.Address, transcript.Path, entries, cut || len(entries) < all)
	}
	if cut && len(entries) == all {
		fmt.Fprintf(a.env.Stderr, "(the middle is left out; the whole file: %s)\n", plaintext.Safe(transcript.Path))
	}
	if err := view.Entries(a.env.Stdout, a.out(), entries, time.Now()); err != nil || !o.follow {
		return true, err
	}
	return true, poll(ctx, func() (err error) {
		if lines, place, _, err = reader.More(adapter, r.Run.ID, of, place); err != nil {
			return err
		}
		return view.Entries(a.env.Stdout, a.out(), sessionfile.Entries(adapter, lines), time.Now())
	})
}
