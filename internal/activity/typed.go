package activity

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/echo"
	"github.com/agentform/agentform/internal/input"
	"github.com/agentform/agentform/internal/layout"
	"github.com/agentform/agentform/internal/turn"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

const (
	// typedFile, in a run directory, has a digest of each text sent to the run, one a line: a text
	// may be a secret.
	typedFile = "typed.jsonl"
	// typedTail is how many bytes of its end are read: only the last texts are still shown.
	typedTail = 64 << 10
)

type typed struct {
	At   time.Time `json:"at"`
	Text echo.Text `json:"text"`
	// Message marks a text submitted as a message for the model.
	Message bool `json:"message,omitempty"`
	// Again is how many earlier messages with the same text the agent had not taken up.
	Again int `json:"again,omitempty"`
}

// Note records the digest of a text before it is typed, so that it is not read from the screen as
// the outcome.
func (r *Reader) Note(run, text string, at time.Time) error {
	if run == "" {
		return nil
	}
	return note(r.data.Run(run), text, typed{At: at})
}

func note(dir, text string, t typed) error {
	t.At, t.Text = t.At.UTC(), echo.Of(text, rand.Uint64())
	if len(t.Text.Lines) == 0 && !t.Message {
		return nil
	}
	line, err := json.Marshal(t)
	path := filepath.Join(dir, typedFile)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	var f *os.File
	if err == nil {
		f, err = os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	}
	if err == nil {
		_, err = f.Write(append(line, '\n'))
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return fmt.Errorf("record what is typed: %w", err)
	}
	return nil
}

// given returns the texts sent to a run, its prompt first, and the time of the last. It skips what
// it cannot read.
func (r *Reader) given(rec session.Record) ([]echo.Text, time.Time) {
	a := r.Agent(rec)
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.run(rec.Run.ID)
	p := rec.Spec.Prompt
	if given := rec.Run.PromptSHA; given != "" && given != p.Digest {
		p = session.Prompt{Digest: given} // the session's prompt has changed since
	}
	if s.prompt != p.Digest+p.Text {
		s.prompt, s.typed = p.Digest+p.Text, nil
		text := p.Text
		if text == "" && p.Digest != "" {
			text, _ = state.Blobs{Dir: r.data.Blobs()}.Get(p.Digest) // without the text, its echo is read as output
		}
		known := echo.Of(text, rand.Uint64())
		if len(known.Lines) > 0 {
			s.typed = append(s.typed, known)
		}
		s.own, s.sent, s.opening, s.message = len(s.typed), 0, typed{}, typed{}
		s.opening = typed{Text: known, Message: input.IsMessage(a, text)}
	}
	path := filepath.Join(r.data.Run(rec.Run.ID), typedFile)
	info, err := os.Lstat(path)
	if err != nil || info.Size() == s.sent {
		return s.typed, s.sentAt
	}
	s.sent, s.typed = info.Size(), s.typed[:s.own:s.own]
	all := readTyped(path)
	for _, t := range all {
		s.typed, s.sentAt = append(s.typed, t.Text), t.At
	}
	s.message = lastOf(all)
	return s.typed, s.sentAt
}

func readTyped(path string) []typed {
	f, err := layout.OpenRegular(path, syscall.O_NOFOLLOW)
	if err != nil {
		return nil
	}
	defer f.Close()
	from, err := f.Seek(-typedTail, io.SeekEnd) // fails if the file is shorter
	b, unread := io.ReadAll(io.LimitReader(f, typedTail))
	if unread != nil {
		return nil
	}
	if err == nil && from > 0 {
		_, b, _ = bytes.Cut(b, []byte("\n"))
	}
	var all []typed
	for line := range bytes.Lines(b) {
		var t typed
		if json.Unmarshal(line, &t) == nil && (len(t.Text.Lines) > 0 || t.Message) {
			all = append(all, t)
		}
	}
	return all
}

// Send types into a running session, and verifies a text with r. It returns the event for the
// history, without the text, which may be a secret.
func (r *Reader) Send(ctx context.Context, rt session.Runtime, rec session.Record, live session.Live, in session.Input, command bool, log *slog.Logger) (outcome input.Outcome, sent history.Event, err error) {
	return send(ctx, r, r.sender(rt, rec, live), rec, in, command, log)
}

// SendUnasked is Reader.Send for a text that no person sends now: it keeps what somebody has begun to type.
func SendUnasked(ctx context.Context, r *Reader, rt session.Runtime, rec session.Record, live session.Live, text string, log *slog.Logger) (sent history.Event, err error) {
	s := r.sender(rt, rec, live)
	s.KeepDraft = true
	_, sent, err = send(ctx, r, s, rec, session.Input{Text: text}, false, log)
	return sent, err
}

func send(ctx context.Context, r *Reader, s input.Sender, rec session.Record, in session.Input, command bool, log *slog.Logger) (outcome input.Outcome, sent history.Event, err error) {
	if in.Key != "" || in.NoEnter {
		sent = r.sent(rec, in.Text, log)
		outcome, err = s.Press(ctx, in)
	} else {
		sent = r.sent(rec, "", log)
		s.Typing = func(text string, message bool) error {
			sent.Time = time.Now()
			if err := r.Sending(rec, text, message, sent.Time); err != nil {
				log.Warn("its echo may be read as the agent's words", "session", rec.Address, "error", err)
			}
			return nil
		}
		outcome, err = s.Send(ctx, in.Text, command)
	}
	sent.Detail = fmt.Sprintf("%d bytes", len(in.Text))
	if in.Key != "" {
		sent.Detail = keyDetail + in.Key
	}
	if outcome == input.Queued {
		sent.Reason = history.Queued
	}
	return outcome, sent, err
}

// The prefixes of the details of Sent events.
const (
	keyDetail    = "key "
	answerDetail = "answer "
)

// Pressed reports whether an event records that a key was sent.
func Pressed(e history.Event) bool {
	return e.Kind == history.Sent && strings.HasPrefix(e.Detail, keyDetail)
}

// Answers reports whether an event records that a question was answered.
func Answers(e history.Event) bool {
	return e.Kind == history.Sent && strings.HasPrefix(e.Detail, answerDetail)
}

// Answer answers the question of a running session's agent. It returns the event for the history,
// without a text.
func (r *Reader) Answer(ctx context.Context, rt session.Runtime, rec session.Record, live session.Live, reply input.Reply, log *slog.Logger) (input.Answered, history.Event, error) {
	sent := r.sent(rec, reply.Text, log)
	done, err := r.sender(rt, rec, live).Answer(ctx, reply)
	sent.Detail = answerDetail + done.String()
	return done, sent, err
}

// sent notes a text before it is typed, and returns the event for it.
func (r *Reader) sent(rec session.Record, text string, log *slog.Logger) history.Event {
	at := time.Now()
	if err := r.Note(rec.Run.ID, text, at); err != nil {
		log.Warn("its echo may be mistaken for the agent's output", "session", rec.Address, "error", err)
	}
	return history.Event{Time: at, Address: rec.Address, ID: rec.ID, Run: rec.Run.ID, Kind: history.Sent}
}

func (r *Reader) sender(rt session.Runtime, rec session.Record, live session.Live) input.Sender {
	return input.Sender{
		Runtime: rt, Location: live.Location, Agent: r.Agent(rec), BootTimeout: rec.Spec.Agent.ReadyTimeout.D(),
		Observe: func(ctx context.Context) (input.Snapshot, error) {
			lives, err := rt.Observe(ctx, true)
			if err != nil {
				return input.Snapshot{}, err
			}
			for i := range lives {
				if l := &lives[i]; l.Mark.Run == live.Mark.Run {
					return r.Snapshot(rec, l, r.Read(rec, l, rec.Run.DeliveredAt, time.Now())), nil
				}
			}
			return input.Snapshot{}, session.ErrGone
		},
	}
}

// Snapshot returns the state of a session that a sender needs, from a look.
func (r *Reader) Snapshot(rec session.Record, l *session.Live, read Look) input.Snapshot {
	s := input.Snapshot{Screen: l.Screen, Detection: read.Detection, Transcript: read.Transcript, HookEvents: r.Heard([]string{rec.Run.ID})}
	signals := r.signals(rec)
	s.Messages, s.Tells = messages(r.Agent(rec), read.Transcript, signals)
	s.Awaited = read.Answer == turn.Awaited
	if all, _ := r.given(rec); len(all) > 0 {
		s.Unsent = all[len(all)-1].Ends(l.Screen)
	}
	if rec.Spec.Agent.Base != "" {
		begun, _ := hooked(r.Agent(rec), signals)
		r.mu.Lock()
		unprompted := r.run(rec.Run.ID).unprompted(rec.Run, slices.Concat(begun, s.Messages))
		r.mu.Unlock()
		if unprompted {
			s.PromptBy = promptBy(rec, s.Tells)
		}
	}
	return s
}
