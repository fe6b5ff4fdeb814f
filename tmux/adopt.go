package tmux

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/internal/tmuxwire"
	"github.com/agentform/agentform/session"
)

// Adopt takes over the session under an id of Find, as it runs: nothing in it is
// disturbed. It gives the session our mark and a pane that stays when its process
// has gone, nothing else on its server is touched, and a link in the socket folder
// lets Observe see it from now on. The place's socket is the server's own.
//
// There is no guest in it before its next Restart: its life is judged by its pane
// and its process, Stop ends that process and all below it, and it cannot be
// frozen. session.ErrExists if it is ours already.
func (r *Runtime) Adopt(ctx context.Context, id string, m session.Mark) (session.Place, error) {
	p, err := r.adopt(ctx, id, m)
	if err != nil {
		return session.Place{}, fmt.Errorf("adopt %s: %w", id, err)
	}
	return p, nil
}

func (r *Runtime) adopt(ctx context.Context, id string, m session.Mark) (session.Place, error) {
	if !runForm.MatchString(m.Run) {
		return session.Place{}, fmt.Errorf("invalid run id %.80q", m.Run)
	}
	l, err := r.find(ctx, id)
	switch {
	case err != nil:
		return session.Place{}, err
	case !l.Foreign:
		return session.Place{}, fmt.Errorf("it is %s: it %w", l.Mark.Address, session.ErrExists)
	case l.Vital != session.Alive:
		return session.Place{}, fmt.Errorf("the session in it is %s", l.Vital)
	}
	mark, err := json.Marshal(m)
	if err != nil {
		return session.Place{}, err
	}
	dir := r.runDir(m.Run)
	c := shim.Config{Run: m.Run, Address: string(m.Address), Dir: l.Dir, Socket: r.guestSocket(m.Run), Argv: l.Command}
	if err := shim.Adopt(dir, c, shim.Proc{PID: l.Agent.PID, Start: l.Agent.Start}, l.Started); err != nil {
		return session.Place{}, err
	}
	s := r.server(l.Place.Socket)
	err = r.link(s)
	if err == nil {
		target := tmuxwire.Session(l.Place.Name)
		_, err = s.ask(ctx,
			tmuxwire.Command{"set-option", "-p", "-t", l.Place.Pane, "remain-on-exit", "on"},
			tmuxwire.Command{"set-option", "-t", target, tmuxwire.PaneOption, l.Place.Pane},
			tmuxwire.Command{"set-option", "-t", target, tmuxwire.MarkOption, string(mark)})
	}
	if err != nil {
		if s.borrowed {
			r.unlink(context.WithoutCancel(ctx), s)
		}
		return session.Place{}, errors.Join(err, os.RemoveAll(dir))
	}
	return l.Place, nil
}

// borrowed reports whether a socket is that of a server of somebody else.
func (r *Runtime) borrowed(socket string) bool {
	return filepath.Dir(socket) != filepath.Clean(r.config.SocketDir)
}

const linkPrefix = "tmux-x-"

// linkTo is the link by which Observe finds a borrowed server.
func (r *Runtime) linkTo(socket string) string {
	sum := sha256.Sum256([]byte(socket))
	return filepath.Join(r.config.SocketDir, linkPrefix+hex.EncodeToString(sum[:4]))
}

func (r *Runtime) link(s *server) error {
	if !s.borrowed {
		return nil
	}
	link := r.linkTo(s.socket)
	err := os.Symlink(s.socket, link)
	if errors.Is(err, os.ErrExist) {
		if to, err := os.Readlink(link); err != nil || to != s.socket {
			return fmt.Errorf("%s is in the way: remove it", link)
		}
		return nil
	}
	return err
}

// unlink takes the link to a borrowed server away when nothing of ours is left
// on it. A link too many is harmless, so what cannot be seen or done is left.
func (r *Runtime) unlink(ctx context.Context, s *server) {
	if left, err := r.observe(ctx, s, false); err == nil && len(left) == 0 {
		_ = os.Remove(r.linkTo(s.socket))
	}
}

// linked are the borrowed servers that run, as far as their sockets tell.
func (r *Runtime) linked() []string {
	links, _ := filepath.Glob(filepath.Join(globQuote(r.config.SocketDir), linkPrefix+"????????")) // fails only for a bad pattern
	var sockets []string
	for _, link := range links {
		to, err := os.Readlink(link)
		if err != nil || !filepath.IsAbs(to) || r.linkTo(to) != link {
			continue // not one of ours
		}
		if info, err := os.Stat(to); err == nil && info.Mode().Type() == os.ModeSocket {
			sockets = append(sockets, to)
		}
	}
	slices.Sort(sockets)
	return sockets
}

// globQuote takes the meaning from the characters that Glob knows.
func globQuote(path string) string {
	return strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `\`, `\\`).Replace(path)
}

// endAdopted ends a run that has no guest: its process and what is below it. A
// process of an earlier boot is no process of it. How it ended is written down in
// the guest's place.
func (r *Runtime) endAdopted(ctx context.Context, run string, f shim.Facts, how session.Stop) error {
	if f.BootID != shim.BootID() || f.Exit != nil {
		return nil
	}
	lived := f.Agent.Alive()
	killed, err := shim.EndTree(ctx, f.Agent, how.Signal, how.Grace.D())
	if err != nil || !lived {
		return err
	}
	e := shim.Exit{Cause: shim.CauseRequested, Signal: how.Signal, At: time.Now().UTC(), Ran: time.Since(f.StartedAt)}
	switch {
	case killed:
		e.Signal = "SIGKILL"
	case e.Signal == "":
		e.Signal = "SIGTERM"
	}
	return shim.WriteExit(r.runDir(run), e)
}

// leftBy is how the process of a pane left: as tmux reaped it, or, where tmux has
// not come to that (3.3a may leave it for long), as the kernel keeps it. nil: it
// cannot be known.
func leftBy(p pane, f shim.Facts) *shim.Exit {
	// What tmux writes into the pane when it has died is the last of it.
	e := shim.Exit{Cause: shim.CauseSelf, At: p.ActiveAt.UTC()}
	e.Ran = e.At.Sub(f.StartedAt)
	number, err := strconv.Atoi(p.ExitSignal)
	switch {
	case p.ExitSignal != "" && err == nil:
		e.Signal = shim.SignalName(number)
	case p.ExitSignal != "":
		e.Signal = "SIG" + strings.TrimPrefix(strings.ToUpper(p.ExitSignal), "SIG")
	case p.ExitStatus != "":
		code, err := strconv.Atoi(p.ExitStatus)
		if err != nil {
			return nil
		}
		e.Code = code
	default:
		var ok bool
		if e.Code, e.Signal, ok = shim.Corpse(f.Agent); !ok {
			return nil
		}
	}
	return &e
}
