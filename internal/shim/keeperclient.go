package shim

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"time"
	"unicode"
)

// lookTimeout is how long a keeper may take to answer a look. It takes well under a
// millisecond; a machine that starts fifty containers may be slow.
const lookTimeout = 3 * time.Second

// Keeper speaks to the first process of a container, whose socket lies in Dir.
// What it answers was written in there: a claim, bounded in size and time. A
// refusal is an *Error. Its methods may be called from many goroutines.
type Keeper struct{ Dir string }

// Hello asks which version of the protocol the keeper speaks: ProtocolVersion of
// its program.
func (k Keeper) Hello(ctx context.Context) (int, error) {
	r, err := k.ask(ctx, answerTimeout, lookLine, keeperRequest{Op: opHello})
	if err == nil && r.Protocol <= 0 {
		err = k.wrong(opHello)
	}
	return r.Protocol, err
}

// Look asks how the run of a folder stands. Of the tmux session target it tells what
// format says, with screen also what is to be seen; format empty: nothing of it.
func (k Keeper) Look(ctx context.Context, runDir, target, format string, screen bool) (Inside, error) {
	r, err := k.ask(ctx, lookTimeout, lookLine, keeperRequest{Op: opLook, RunDir: runDir, Target: target, Format: format, Screen: screen})
	if err == nil && (r.Seen == nil || r.Seen.check() != nil) {
		err = k.wrong(opLook)
	}
	if err != nil {
		return Inside{}, err
	}
	return *r.Seen, nil
}

// Begin starts the prepared run of a folder (see Prepare) on a tmux server of its own:
// args is the tmux command for that. The run's guest is handed the secrets, and of the
// names held those that an earlier run was given. It returns when tmux has started
// the guest; the run's folder tells what becomes of it.
func (k Keeper) Begin(ctx context.Context, runDir string, args []string, secrets map[string]string, held []string) error {
	_, err := k.ask(ctx, tmuxTimeout+serverTimeout+answerTimeout, lookLine,
		keeperRequest{Op: opBegin, RunDir: runDir, Args: args, Secrets: secrets, Held: held})
	return err
}

// End ends a run and everything below it, with the signal and, after the grace,
// SIGKILL, and returns when nothing of it is left.
func (k Keeper) End(ctx context.Context, run, runDir, signal string, grace time.Duration) error {
	grace = max(grace, 0)
	_, err := k.ask(ctx, 2*(grace+killTimeout)+2*answerTimeout, lookLine,
		keeperRequest{Op: opEnd, Run: run, RunDir: runDir, Signal: signal, Grace: grace})
	return err
}

// Tmux runs a tmux command in the container.
func (k Keeper) Tmux(ctx context.Context, stdin string, args ...string) (TmuxReply, error) {
	r, err := k.ask(ctx, tmuxTimeout+answerTimeout, keeperLine, keeperRequest{Op: opTmux, Args: args, Stdin: stdin})
	if err == nil && r.Tmux == nil {
		err = k.wrong(opTmux)
	}
	if err != nil {
		return TmuxReply{}, err
	}
	return *r.Tmux, nil
}

// askSecrets is asked by a run's guest of its keeper, once.
func askSecrets(socket, run string) (map[string]string, error) {
	k := Keeper{Dir: filepath.Dir(socket)}
	r, err := k.ask(context.Background(), answerTimeout, keeperLine, keeperRequest{Op: opSecrets, Run: run})
	return r.Secrets, err
}

func (k Keeper) wrong(op string) error {
	return fmt.Errorf("ask the container's first process to %s: %w", op, errIncomplete)
}

// ask sends one request and reads at most limit bytes of an answer.
func (k Keeper) ask(ctx context.Context, timeout time.Duration, limit int, q keeperRequest) (keeperReply, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	conn, r, err := k.open(ctx, limit, q)
	if err != nil {
		return keeperReply{}, err
	}
	return r, conn.Close()
}

// open connects, sends one request, and reads at most limit bytes of an answer. The
// connection stays open, and without a deadline.
func (k Keeper) open(ctx context.Context, limit int, q keeperRequest) (net.Conn, keeperReply, error) {
	fail := func(err error) (net.Conn, keeperReply, error) {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, keeperReply{}, fmt.Errorf("ask the container's first process to %s: %w", q.Op, err)
	}
	b, err := json.Marshal(q)
	if err != nil {
		return fail(err)
	}
	if len(b) >= keeperLine {
		return fail(fmt.Errorf("the request is longer than %d MiB", keeperLine>>20))
	}
	conn, err := dial(ctx, filepath.Join(k.Dir, KeeperSocket))
	if err != nil {
		return fail(err)
	}
	defer context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })()
	r := keeperReply{}
	if _, err = conn.Write(append(b, '\n')); err == nil {
		r, err = readReply(conn, limit)
	}
	if err != nil {
		conn.Close()
		return fail(err)
	}
	return conn, r, nil
}

// readReply reads one answer of at most limit bytes.
func readReply(from io.Reader, limit int) (keeperReply, error) {
	lines := bufio.NewScanner(from)
	lines.Buffer(make([]byte, 0, 4096), limit)
	if !lines.Scan() {
		if err := lines.Err(); err != nil {
			return keeperReply{}, err
		}
		return keeperReply{}, errors.New("it hung up without an answer")
	}
	return decodeReply(lines.Bytes())
}

// refusalLimit is how much of what a keeper refuses with is told, in runes.
const refusalLimit = 500

// decodeReply reads a keeper's answer; a refusal is an error.
func decodeReply(line []byte) (keeperReply, error) {
	var r keeperReply
	switch err := json.Unmarshal(line, &r); {
	case err != nil:
		return keeperReply{}, fmt.Errorf("answer: %w", err)
	case r.OK:
		return r, nil
	case r.Error != nil:
		return keeperReply{}, &Error{Code: r.Error.Code, Message: oneLine(r.Error.Message, refusalLimit)}
	}
	return keeperReply{}, errIncomplete
}

// oneLine is a text as one line without control characters, of at most so many runes.
func oneLine(text string, limit int) string {
	said := []rune(strings.Join(strings.FieldsFunc(text, func(c rune) bool { return unicode.IsSpace(c) || unicode.IsControl(c) }), " "))
	if len(said) > limit {
		said = append(said[:limit], '…')
	}
	return string(said)
}
