package guest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"time"
)

// Keeper speaks to the first process of a container, whose socket lies in Dir.
// What it answers was written in there: a claim, bounded in size and time. Its
// methods may be called from many goroutines.
type Keeper struct{ Dir string }

// Hello is answered by a keeper that is up.
func (k Keeper) Hello(ctx context.Context) error {
	_, err := k.ask(ctx, answerTimeout, keeperRequest{Op: opHello})
	return err
}

// Tmux runs a tmux command in the container.
func (k Keeper) Tmux(ctx context.Context, stdin string, args ...string) (TmuxReply, error) {
	r, err := k.ask(ctx, tmuxTimeout+answerTimeout, keeperRequest{Op: opTmux, Args: args, Stdin: stdin})
	if err == nil && r.Tmux == nil {
		err = errIncomplete
	}
	if err != nil {
		return TmuxReply{}, err
	}
	return *r.Tmux, nil
}

// Look asks how the run of that folder stands.
func (k Keeper) Look(ctx context.Context, runDir string) (Inside, error) {
	r, err := k.ask(ctx, 2*time.Second, keeperRequest{Op: opLook, RunDir: runDir})
	if err == nil && r.Seen == nil {
		err = errIncomplete
	}
	if err != nil {
		return Inside{}, err
	}
	return *r.Seen, nil
}

// End ends a run and everything below it, with the signal and, after the grace,
// SIGKILL, and returns when nothing of it is left.
func (k Keeper) End(ctx context.Context, run, runDir, signal string, grace time.Duration) error {
	limit := 2*(max(grace, 0)+killTimeout) + 2*answerTimeout
	_, err := k.ask(ctx, limit, keeperRequest{Op: opEnd, Run: run, RunDir: runDir, Signal: signal, Grace: max(grace, 0)})
	return err
}

func (k Keeper) ask(ctx context.Context, limit time.Duration, q keeperRequest) (keeperReply, error) {
	fail := func(err error) (keeperReply, error) {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return keeperReply{}, fmt.Errorf("ask the container's first process to %s: %w", q.Op, err)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", filepath.Join(k.Dir, KeeperSocket))
	if err != nil {
		return fail(err)
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })()
	b, err := json.Marshal(q)
	if err != nil {
		return fail(err)
	}
	if _, err := conn.Write(append(b, '\n')); err != nil {
		return fail(err)
	}
	lines := bufio.NewScanner(conn)
	lines.Buffer(make([]byte, 0, 4096), keeperLine)
	if !lines.Scan() {
		if err := lines.Err(); err != nil {
			return fail(err)
		}
		return fail(errors.New("it hung up without an answer"))
	}
	var r keeperReply
	if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
		return fail(fmt.Errorf("answer: %w", err))
	}
	if !r.OK {
		return fail(errors.New(r.Error))
	}
	return r, nil
}
