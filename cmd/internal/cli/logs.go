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
	"github.com/agentform/agentform/cmd/internal/action/target"
	"github.com/agentform/agentform/cmd/internal/exit"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/cmd/internal/streams"
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
		Use:     "logs ADDR...",
		Aliases: []string{"log"},
		Short:   "Show the conversation logs of agents",
		Long: `Prints prompts, tool calls, answers, errors and token use from the agent's session file. If
there is none, or with --screen, it prints the recorded screens: one for each change of
state, with time and reason. See capture for the current screen. With --verify it prints what
the command of the last verification printed.

Of several sessions each line starts with the name of its session, unless --no-prefix is
given. They are printed one after the other; --follow then prints what any of them adds.`,
		Example: `  agentform logs api
  agentform logs api -f
  agentform logs --all -f -n 0
  agentform logs --role builder -n 20
  agentform logs api --screen
  agentform logs api --verify -n 100`,
		RunE: func(c *cobra.Command, args []string) error {
			if o.follow && a.JSON {
				return exit.Usage(c.CommandPath(), errors.New("--json prints existing entries: omit --follow"))
			}
			if o.verify && (o.follow || o.screen) {
				return exit.Usage(c.CommandPath(), errors.New("--verify cannot be combined with --follow or --screen"))
			}
			if err := o.tail.check(); err != nil {
				return exit.Usage(c.CommandPath(), err)
			}
			if err := o.set(c, args); err != nil {
				return err
			}
			run := func() error { return runLogs(c.Context(), a, o) }
			if o.follow {
				return run()
			}
			return a.Paged(run)
		},
	}
	c.Flags().BoolVarP(&o.follow, "follow", "f", false, "follow new output")
	c.Flags().BoolVar(&o.screen, "screen", false, "print the recorded screens instead of the session file")
	c.Flags().BoolVar(&o.verify, "verify", false, "print the output of the last verification")
	noPrefixFlag(c, &o.noPrefix)
	o.tail.register(c, "entries, or lines of the screens, of each session")
	o.register(a, c, "sessions")
	fileWithoutShorthand(a, c)
	return c
}

type logsOptions struct {
	sessionArgs
	follow, screen, noPrefix bool
	verify                   bool
	tail                     tailFlag
}

func noPrefixFlag(c *cobra.Command, value *bool) {
	c.Flags().BoolVar(value, "no-prefix", false, "do not begin lines with the name of the session")
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

func runLogs(ctx context.Context, a *app, o logsOptions) error {
	p, s, named, err := o.open(a)
	if err != nil {
		return err
	}
	if len(named) == 0 && !a.JSON {
		noneRunning(a)
		return nil
	}
	if o.verify {
		records := make([]session.Record, len(named))
		for i, address := range named {
			records[i] = *project.Find(s.Sessions, address)
		}
		return runVerifyLogs(ctx, a, o, records)
	}
	out := func(int) io.WriteCloser { return unclosed{a.Out} }
	if len(named) > 1 && !o.noPrefix {
		out = prefixes(a, a.Out, named).Writer
	}
	logs := make([]*sessionLog, len(named))
	for i, address := range named {
		r := *project.Find(s.Sessions, address)
		logs[i] = &sessionLog{logsOptions: o, app: a, out: out(i), record: r, path: filepath.Join(p.SessionDir(r), history.TranscriptName),
			adapter: agent.For(r.Spec.Agent), lookup: p.Activity().Lookup(r)}
	}
	if a.JSON {
		return logsJSON(a, logs, o.Single(named))
	}
	var errs []error
	var following []*sessionLog
	for _, l := range logs {
		err := l.print()
		if errors.Is(err, syscall.EPIPE) {
			return err
		}
		if err != nil {
			errs = append(errs, err)
		} else {
			following = append(following, l)
		}
	}
	if !o.follow || len(following) == 0 {
		return endMany(a, view.Many{Verb: "printed the logs of", All: len(named), Done: len(following), Failed: len(errs)}, nil, errs)
	}
	if len(errs) > 0 {
		_ = view.Errors(a.Err, a.ErrStyle(), errs...) // the others are followed
	}
	return streams.Poll(ctx, func() error {
		for _, l := range following {
			if err := l.more(); err != nil {
				return err
			}
		}
		return nil
	})
}

// prefixes begin lines with the names of sessions.
func prefixes(a *app, w io.Writer, named []session.Address) *view.Prefixes {
	names := make([]string, len(named))
	for i, address := range named {
		names[i] = address.Short()
	}
	return view.NewPrefixes(w, a.Style(w), names)
}

// unclosed is a writer of which nothing ends.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }

func logsJSON(a *app, logs []*sessionLog, single bool) error {
	var tails []view.Tail
	var errs []error
	for _, l := range logs {
		x := l.document()
		if x.Err != nil {
			errs = append(errs, x.Err)
		}
		tails = append(tails, x)
	}
	if err := printTails(a, tails, single); err != nil {
		return err
	}
	return endMany(a, view.Many{Verb: "printed the logs of", All: len(logs), Done: len(logs) - len(errs), Failed: len(errs)}, nil, errs)
}

// sessionLog is the log of one session: what its agent's session file has, else its
// recorded screens.
type sessionLog struct {
	logsOptions
	app     *app
	out     io.WriteCloser
	record  session.Record
	path    string // of the transcript
	adapter session.Agent
	lookup  session.Lookup

	reader sessionfile.Reader
	native bool // the agent keeps a session file
	place  sessionfile.Place
	at     int64 // in the transcript
}

// entries returns the entries that were added since. cut reports that some were left out.
func (l *sessionLog) entries() (entries []session.Entry, path string, cut bool, err error) {
	transcript, err := l.reader.Read(l.adapter, l.record.Run.ID, l.lookup)
	if err != nil {
		return nil, "", false, fmt.Errorf("read the session file of %s: %w", l.record.Address, err)
	}
	if transcript == nil {
		return nil, "", false, nil
	}
	lines, place, cut, err := l.reader.More(l.adapter, l.record.Run.ID, l.lookup, l.place)
	if err != nil {
		return nil, "", false, err
	}
	l.place = place
	return sessionfile.Entries(l.adapter, lines), transcript.Path, cut, nil
}

func (l *sessionLog) document() view.Tail {
	x := view.Tail{Address: l.record.Address}
	if !l.screen {
		entries, path, cut, err := l.entries()
		if err != nil || len(entries) > 0 {
			x.Entries, x.Path, x.Err = last(l.tail, entries), path, err
			x.Truncated = cut || len(x.Entries) < len(entries)
			return x
		}
	}
	x.Text, _, x.Err = transcriptEnd(l.path)
	x.Text = lastLines(l.tail, x.Text)
	return x
}

// print prints what there is.
func (l *sessionLog) print() error {
	if !l.screen {
		entries, path, cut, err := l.entries()
		if err != nil {
			return err
		}
		if l.native = len(entries) > 0 || path != "" && l.follow; l.native {
			shown := last(l.tail, entries)
			if cut && len(shown) == len(entries) {
				fmt.Fprintf(l.app.Err, "(the middle is left out; the whole file: %s)\n", plaintext.Safe(path))
			}
			return view.Entries(l.out, l.app.OutStyle(), shown, time.Now())
		}
	}
	n, err := printTranscript(l.out, l.path, l.tail)
	if err != nil {
		return err
	}
	if l.at = n; n == 0 && !l.follow {
		fmt.Fprintf(l.app.Err, "%s: no log yet. For the screen: agentform capture %s\n", l.record.Address, target.Quoted(l.record.Address))
	}
	return l.out.Close()
}

// more prints what was added. An agent that wrote no session file before may do so now.
func (l *sessionLog) more() error {
	if l.screen {
		return l.moreScreens()
	}
	entries, path, _, err := l.entries()
	if err != nil {
		return err
	}
	if l.native = l.native || path != ""; !l.native {
		return l.moreScreens()
	}
	return view.Entries(l.out, l.app.OutStyle(), entries, time.Now())
}

// moreScreens prints the rest of a transcript that was rotated first.
func (l *sessionLog) moreScreens() error {
	if info, err := os.Stat(l.path); err == nil && info.Size() < l.at {
		if _, err := printFrom(l.out, l.path+".1", l.at); err != nil {
			return err
		}
		l.at = 0
	}
	n, err := printFrom(l.out, l.path, l.at)
	l.at += n
	return err
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
