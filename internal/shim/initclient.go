package shim

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"github.com/agentform/agentform/internal/proc"
)

// Hold asks the init to end the processes of a client when the connection that it
// returns is closed.
func (k Init) Hold(client string) (*os.File, error) {
	ctx, cancel := context.WithTimeout(context.Background(), AnswerTimeout)
	defer cancel()
	conn, _, err := k.open(ctx, AnswerTimeout, lookLine, InitRequest{Op: OpHold, Client: client})
	if err != nil {
		return nil, err
	}
	file, ok := conn.(*os.File)
	if !ok {
		return nil, errors.Join(errors.New("the init is on another machine"), conn.Close())
	}
	return file, nil
}

// lookTimeout is how long an init may take to answer a look. It takes well under a
// millisecond; a machine that starts fifty containers may be slow.
const lookTimeout = 3 * time.Second

// Init speaks to the first process of a container, whose socket lies in Dir.
// What it answers was written in there: a claim, bounded in size and time. A
// refusal is an *Error. Its methods may be called from many goroutines.
type Init struct {
	Dir string
	// Dial connects to a socket of another machine; nil: Dir is on this one.
	Dial func(ctx context.Context, socket string) (Conn, error)
}

// Hello asks which version of the protocol the init speaks: rundir.Version of
// its program.
func (k Init) Hello(ctx context.Context) (int, error) {
	r, err := k.ask(ctx, AnswerTimeout, lookLine, InitRequest{Op: OpHello})
	return r.Protocol, err
}

// Look asks how the run of a directory stands. Of the tmux session target it tells what
// format says, with screen also what is to be seen; format empty: nothing of it.
func (k Init) Look(ctx context.Context, runDir, target, format string, screen bool) (ContainerRun, error) {
	r, err := k.Inspect(ctx, InitRequest{RunDir: runDir, Target: target, Format: format, Screen: screen})
	if err != nil {
		return ContainerRun{}, err
	}
	return *r.Seen, nil
}

// farLookTimeout is lookTimeout for an init on another machine, whose engine first executes
// a program.
const farLookTimeout = 8 * time.Second

// Inspect is Look with what else the request asks for: files of the run, and of its agent.
// Seen of the reply is set.
func (k Init) Inspect(ctx context.Context, q InitRequest) (InitReply, error) {
	q.Op = OpInspect
	timeout := lookTimeout
	if k.Dial != nil {
		timeout = farLookTimeout
	}
	return k.ask(ctx, timeout, lookLine, q)
}

// Begin starts the prepared run of a directory (see Prepare) on a tmux server of its own:
// args is the tmux command for that. The run's shim is handed the secrets, and of the
// names held those that an earlier run was given. It returns when tmux has started
// the shim; the run's directory tells what becomes of it.
func (k Init) Begin(ctx context.Context, runDir string, args []string, secrets map[string]string, held []string) error {
	_, err := k.ask(ctx, TmuxTimeout+ServerTimeout+AnswerTimeout, lookLine,
		InitRequest{Op: OpBegin, RunDir: runDir, Args: args, Secrets: secrets, Held: held})
	return err
}

// End ends a run and everything below it, with the signal and, after the grace,
// SIGKILL, and returns when nothing of it is left.
func (k Init) End(ctx context.Context, run, runDir, signal string, grace time.Duration) error {
	grace = max(grace, 0)
	_, err := k.ask(ctx, 2*(grace+proc.KillTimeout)+2*AnswerTimeout, lookLine,
		InitRequest{Op: OpEnd, Run: run, RunDir: runDir, Signal: signal, Grace: grace})
	return err
}

// Tmux runs a tmux command in the container.
func (k Init) Tmux(ctx context.Context, stdin string, args ...string) (TmuxReply, error) {
	r, err := k.ask(ctx, TmuxTimeout+AnswerTimeout, InitLineLimit, InitRequest{Op: OpTmux, Args: args, Stdin: stdin})
	if err != nil {
		return TmuxReply{}, err
	}
	return *r.Tmux, nil
}

// Secrets returns the secrets of a run to its shim, once.
func (k Init) Secrets(ctx context.Context, run string) (map[string]string, error) {
	r, err := k.ask(ctx, AnswerTimeout, InitLineLimit, InitRequest{Op: OpSecrets, Run: run})
	return r.Secrets, err
}

// ask sends one request and reads at most limit bytes of an answer.
func (k Init) ask(ctx context.Context, timeout time.Duration, limit int, q InitRequest) (InitReply, error) {
	if k.Dial == nil {
		limited, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		ctx = limited
	}
	conn, r, err := k.open(ctx, timeout, limit, q)
	if err != nil {
		return InitReply{}, err
	}
	return r, conn.Close()
}

// open connects, sends one request, and reads at most limit bytes of an answer. The
// connection stays open, and without a deadline.
func (k Init) open(ctx context.Context, timeout time.Duration, limit int, q InitRequest) (conn Conn, r InitReply, err error) {
	socket := filepath.Join(k.Dir, InitSocket)
	if k.Dial != nil { // which may wait for its turn, and has a timeout of its own
		conn, err = k.Dial(ctx, socket)
		limited, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		ctx = limited
	} else {
		conn, err = dial(socket)
	}
	if err == nil {
		lines := bufio.NewScanner(conn)
		lines.Buffer(make([]byte, 0, 4096), limit)
		if err = exchange(ctx, conn, lines, q, &r); err == nil {
			err = r.check(q.Op)
		}
		if err != nil {
			conn.Close()
		}
	}
	if err != nil {
		return nil, InitReply{}, fmt.Errorf("request to the container's init (%s): %w", q.Op, err)
	}
	return conn, r, nil
}

// refusalLimit is how much of the reason of an init is shown, in runes.
const refusalLimit = 500

// ReadInitReply reads what an init answered to an operation. A refusal is an *Error. The reply has
// what the operation asks for.
func ReadInitReply(op string, line []byte) (InitReply, error) {
	var r InitReply
	err := json.Unmarshal(line, &r)
	if err == nil {
		err = r.check(op)
	}
	if err != nil {
		return InitReply{}, fmt.Errorf("request to the container's init (%s): %w", op, err)
	}
	return r, nil
}

// check returns why a reply does not answer an operation: the init refused it, or says nothing
// that an init says.
func (r InitReply) check(op string) error {
	switch {
	case !r.OK && r.Error != nil:
		return &Error{Code: r.Error.Code, Message: OneLine(r.Error.Message, refusalLimit)}
	case !r.OK,
		op == OpHello && r.Protocol <= 0,
		op == OpInspect && r.Seen == nil,
		r.Seen != nil && !r.Seen.credible(),
		op == OpTmux && r.Tmux == nil,
		op == OpShim && r.Shim == nil:
		return errIncomplete
	}
	return nil
}

// OneLine returns a text as one line without control characters, of at most so many runes.
func OneLine(text string, limit int) string {
	said := []rune(strings.Join(strings.FieldsFunc(text, func(c rune) bool { return unicode.IsSpace(c) || unicode.IsControl(c) }), " "))
	if len(said) > limit {
		said = append(said[:limit], '…')
	}
	return string(said)
}
