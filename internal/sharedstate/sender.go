package sharedstate

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/agentform/agentform/health"
	"github.com/agentform/agentform/internal/backend"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

const (
	sendEvery   = time.Second      // while a command writes
	sendTimeout = 30 * time.Second // of one write
	// mostMoments of one session are sent: more than any budget of restarts counts.
	mostMoments = 256
)

// sender sends what is written to an open copy. It implements state.Follower.
type sender struct {
	copy  *Copy
	hold  *backend.Hold
	store *state.Store
	// restarts is that of Opening.
	restarts func(session.Record) []health.Moment

	mu    sync.Mutex
	timer *time.Timer // of the next send; nil: none is due

	sending sync.Mutex // guards the following; held while sending
	mark    Mark
	noted   bool              // mark is beside the copy
	prompts map[string]string // by digest, as far as they were read
}

// Allow implements state.Follower. It refuses when the lock is lost.
func (s *sender) Allow() error { return context.Cause(s.hold.Lost()) }

// Written implements state.Follower. A new session is sent before it is started: otherwise other
// machines would start it, too.
func (s *sender) Written(serial uint64, added bool) error {
	if added {
		return s.send(serial, false)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer == nil {
		s.timer = time.AfterFunc(sendEvery, func() {
			s.mu.Lock()
			s.timer = nil
			s.mu.Unlock()
			_ = s.send(s.store.State().Serial, false) // Close sends it otherwise, and reports
		})
	}
	return nil
}

// Close implements state.Follower: it sends what was not sent, and unlocks.
func (s *sender) Close() error {
	s.mu.Lock()
	if s.timer != nil {
		s.timer.Stop()
	}
	s.mu.Unlock()
	err := s.send(s.store.State().Serial, true)
	if err != nil {
		err = &UnsentError{s.copy.Name, s.copy.Path, err}
	}
	unlocked := release(s.hold)
	if _, lost := errors.AsType[*backend.LostError](unlocked); lost && err != nil {
		return err // which says so
	}
	return errors.Join(err, unlocked)
}

// send sends the state unless its serial was already sent: concurrent callers share one write. The
// last write of a command includes the restarts, and is recorded next to the copy. After a kill
// before that, the copy counts as not sent, and is merged with what was.
func (s *sender) send(serial uint64, last bool) error {
	s.sending.Lock()
	defer s.sending.Unlock()
	sent := s.mark.Serial >= serial
	if sent && (!last || s.noted) {
		return nil
	}
	st := s.store.State()
	more := extras{Restarts: s.mark.Restarts}
	if last {
		more.Restarts = s.restartsOf(st.Sessions)
	}
	if !sent || !reflect.DeepEqual(more.Restarts, s.mark.Restarts) {
		more.Prompts = s.promptsOf(st.Sessions)
		text, serial, err := s.encoded(st)
		if err == nil {
			text, err = more.appendTo(text)
		}
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(context.Background(), sendTimeout)
		defer cancel()
		v, err := s.hold.Write(ctx, text, s.mark.Version)
		if err != nil {
			return err
		}
		s.mark = s.copy.newMark(v, serial, more.Restarts)
	}
	if s.noted = last; !last {
		return nil
	}
	_ = writeMark(s.copy.Path, s.mark) // without it the copy is merged with the sent state
	return nil
}

// encoded returns the text of the open state, which is st or newer, and its serial.
func (s *sender) encoded(st state.State) ([]byte, uint64, error) {
	if !slices.ContainsFunc(st.Sessions, func(r session.Record) bool { return r.Spec.Runtime.Traits().Everywhere }) {
		return state.Encoded(s.store)
	}
	st.Sessions = withRepos(st.Sessions, func(repo string) string { return portable(s.copy.Owner.Project, repo) })
	text, err := st.Encode()
	return text, st.Serial, err
}

// promptsOf returns the texts of the sessions' prompts. One that is not kept here is lost to
// others, too.
func (s *sender) promptsOf(sessions []session.Record) map[string]string {
	all := map[string]string{}
	for _, r := range sessions {
		digests := []string{r.Spec.Prompt.Digest, r.Run.PromptSHA}
		if r.Fallback != nil {
			digests = append(digests, r.Fallback.Prompt)
		}
		for _, digest := range digests {
			text, known := s.prompts[digest]
			if digest == "" || known && text == "" {
				continue
			}
			if !known {
				text, _ = s.copy.Blobs.Get(digest)
				s.prompts[digest] = text
			}
			if text != "" {
				all[digest] = text
			}
		}
	}
	return all
}

// restartsOf returns the facts about restarts: for this machine's sessions its own, for others
// those read.
func (s *sender) restartsOf(sessions []session.Record) map[string][]health.Moment {
	all := map[string][]health.Moment{}
	for _, r := range sessions {
		moments := s.mark.Restarts[r.ID]
		if Mine(r, s.copy.Owner) && s.restarts != nil {
			moments = s.restarts(r)
			moments = moments[max(0, len(moments)-mostMoments):]
		}
		if len(moments) > 0 {
			all[r.ID] = moments
		}
	}
	return all
}
