package shim

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"github.com/agentform/agentform/internal/proc"
)

// lookTimeout bounds a look. It takes well under a millisecond, but a machine that starts fifty
// containers may be slow.
const lookTimeout = 3 * time.Second

// Init is a client of the first process of a container, whose socket is in Dir. Answers come from
// inside the container: they are claims, bounded in size and time. A refusal is an *Error. Its
// methods may be called concurrently.
type Init struct {
	Dir string
	// Dial connects to a socket on another machine; nil: Dir is on this machine.
	Dial func(ctx context.Context, socket string) (Conn, error)
}

// Hello returns the init's protocol version, the rundir.Version of its program.
func (k Init) Hello(ctx context.Context) (int, error) {
	r, err := k.ask(ctx, AnswerTimeout, lookLine, InitRequest{Op: OpHello})
	return r.Protocol, err
}

// Look returns the status of the run in a directory. It includes the tmux session target in the
// given format, and with screen the pane's content. If format is empty, neither is included.
func (k Init) Look(ctx context.Context, runDir, target, format string, screen bool) (ContainerRun, error) {
	r, err := k.Inspect(ctx, InitRequest{RunDir: runDir, Target: target, Format: format, Screen: screen})
	if err != nil {
		return ContainerRun{}, err
	}
	return *r.Seen, nil
}

// farLookTimeout is lookTimeout for an init on another machine, where the engine first starts a
// program.
const farLookTimeout = 8 * time.Second

// Inspect is Look with the other things the request asks for, such as files of the run and of its
// agent. It sets Seen in the reply.
func (k Init) Inspect(ctx context.Context, q InitRequest) (InitReply, error) {
	q.Op = OpInspect
	timeout := lookTimeout
	if k.Dial != nil {
		timeout = farLookTimeout
	}
	return k.ask(ctx, timeout, lookLine, q)
}

// Begin starts the prepared run of a directory (see Prepare) on its own tmux server, with the tmux
// command args. The run's shim gets the secrets, and those secrets of an earlier run that held
// names. Begin returns when tmux has started the shim; the outcome is in the run's directory.
func (k Init) Begin(ctx context.Context, runDir string, args []string, secrets map[string]string, held []string) error {
	_, err := k.ask(ctx, TmuxTimeout+ServerTimeout+AnswerTimeout, lookLine,
		InitRequest{Op: OpBegin, RunDir: runDir, Args: args, Secrets: secrets, Held: held})
	return err
}

// End ends a run and its descendants with the signal and, after the grace, SIGKILL, and returns
// when no process is left.
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

// ask sends one request and reads an answer of at most limit bytes.
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

// open connects, sends one request, and reads an answer of at most limit bytes. The connection
// stays open, without a deadline.
func (k Init) open(ctx context.Context, timeout time.Duration, limit int, q InitRequest) (conn Conn, r InitReply, err error) {
	socket := filepath.Join(k.Dir, InitSocket)
	if k.Dial != nil { // has its own timeout, as it may wait for a slot
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

// refusalLimit bounds the reason of a refusal that is shown, in runes.
const refusalLimit = 500

// ReadInitReply decodes the reply of an init to an operation. A refusal is an *Error. Otherwise the
// reply has what the operation asks for.
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

// check returns an error if the reply is a refusal or is not valid for the operation.
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

// OneLine returns a text as one line without control characters, of at most limit runes.
func OneLine(text string, limit int) string {
	said := []rune(strings.Join(strings.FieldsFunc(text, func(c rune) bool { return unicode.IsSpace(c) || unicode.IsControl(c) }), " "))
	if len(said) > limit {
		said = append(said[:limit], '…')
	}
	return string(said)
}
