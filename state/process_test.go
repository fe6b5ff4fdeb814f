package state

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/agentform/agentform/session"
)

// The tests of this file need processes that can die or run out of disk: they
// start the test binary again, as what this variable says.
const roleVariable = "STATE_TEST_ROLE"

func TestMain(m *testing.M) {
	path := os.Getenv("STATE_TEST_PATH")
	switch os.Getenv(roleVariable) {
	case "":
		os.Exit(m.Run())
	case "writer":
		os.Exit(writer(path))
	case "holder":
		os.Exit(holder(path))
	case "full":
		os.Exit(fullDisk(path))
	}
	os.Exit(99)
}

func child(role, path string) *exec.Cmd {
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), roleVariable+"="+role, "STATE_TEST_PATH="+path)
	c.Stderr = os.Stderr
	return c
}

// lanes is how many sessions the writer changes at the same time.
const lanes = 4

// writer changes sessions for ever, each in its lane: step i is Put with
// number i, and every fifth is Delete. It prints each step that is done.
func writer(path string) int {
	s, err := Open(context.Background(), path, "demo", "1", Holder{PID: os.Getpid()}, 5*time.Second)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	start := map[session.Address]int{}
	for _, r := range s.State().Sessions {
		start[r.Address] = r.Run.Number
	}
	for lane := range lanes {
		r := record("lane" + strconv.Itoa(lane))
		go func() {
			for i := start[r.Address] + 1; ; i++ {
				var err error
				if r.Run.Number = i; i%5 == 0 {
					err = s.Delete(r.Address)
				} else {
					err = s.Put(r)
				}
				if err != nil {
					fmt.Fprintln(os.Stderr, err)
					os.Exit(1)
				}
				os.Stdout.WriteString(fmt.Sprintf("%d %d\n", lane, i))
			}
		}()
	}
	select {}
}

// Killed at any moment, the file parses and holds every change that was
// acknowledged, and at most the one after it in each lane.
func TestKill(t *testing.T) {
	const kills, workers = 200, 4
	var steps atomic.Int64
	var wg sync.WaitGroup
	for worker := range workers {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(worker)))
			path := filepath.Join(t.TempDir(), "state.json")
			for n := 0; n < kills/workers && !t.Failed(); n++ {
				killOnce(t, path, r, &steps)
			}
		})
	}
	wg.Wait()
	if steps.Load() < kills {
		t.Errorf("only %d changes were acknowledged before %d kills", steps.Load(), kills)
	}
}

func killOnce(t *testing.T, path string, r *rand.Rand, steps *atomic.Int64) {
	before, err := Read(path)
	if err != nil && !errors.Is(err, ErrNone) {
		t.Error(err)
		return
	}
	start := [lanes]int{}
	for _, r := range before.Sessions {
		start[lane(r)] = r.Run.Number
	}
	c := child("writer", path)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Error(err)
		return
	}
	if err := c.Start(); err != nil {
		t.Error(err)
		return
	}
	// One in four dies before or in its first write, the others after some changes, amid
	// later ones: however slow the disk is, some are acknowledged.
	left, delay := 0, time.Duration(r.Int64N(int64(15*time.Millisecond)))
	if r.IntN(4) > 0 {
		left = 2 + r.IntN(6)
	} else {
		time.AfterFunc(delay, func() { c.Process.Kill() })
	}
	acked := start
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if left--; left == 0 {
			time.AfterFunc(delay, func() { c.Process.Kill() })
		}
		var lane, step int
		if _, err := fmt.Sscan(lines.Text(), &lane, &step); err == nil {
			acked[lane] = step
			steps.Add(1)
		}
	}
	c.Wait()
	after, err := Read(path)
	if err != nil && !errors.Is(err, ErrNone) {
		t.Error(err)
		return
	}
	found := [lanes]int{}
	for _, r := range after.Sessions {
		found[lane(r)] = r.Run.Number
	}
	for i := range lanes {
		if !follows(found[i], acked[i]) && !follows(found[i], acked[i]+1) {
			t.Errorf("lane %d: step %d was acknowledged and the file has %d", i, acked[i], found[i])
		}
	}
}

// follows reports whether the file, with that number on record (0: nothing on
// record), is what step left.
func follows(found, step int) bool { return found == step || found == 0 && step%5 == 0 }

func lane(r session.Record) int {
	n, _ := strconv.Atoi(strings.TrimPrefix(string(r.Address), "session.lane"))
	return n
}

func holder(path string) int {
	s, err := Open(context.Background(), path, "demo", "1", Holder{PID: os.Getpid(), User: "eve", Host: "far", Command: "agentform hub"}, 0)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer s.Close()
	fmt.Println("held")
	_, _ = io.Copy(io.Discard, os.Stdin) // until the test closes it, or ends
	return 0
}

func TestTwoProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	c := child("holder", path)
	if _, err := c.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer c.Process.Kill()
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "held\n" {
		t.Fatalf("the other process says %q, %v", line, err)
	}
	_, err = Open(t.Context(), path, "demo", "1", Holder{}, 0)
	var locked *LockedError
	if !errors.As(err, &locked) || locked.Holder.PID != c.Process.Pid || !strings.Contains(err.Error(), "eve") {
		t.Fatalf("Open = %v, want it refused for eve", err)
	}
	if _, err := Read(path); !errors.Is(err, ErrNone) {
		t.Errorf("Read needs no lock: %v", err)
	}
	// A dead holder is no holder.
	c.Process.Kill()
	c.Wait()
	open(t, path)
}

// fullDisk runs out of disk (as a limit on the size of files) and gets it back.
func fullDisk(path string) int {
	signal.Ignore(syscall.SIGXFSZ)
	fail := func(a ...any) int { fmt.Fprintln(os.Stderr, a...); return 1 }
	s, err := Open(context.Background(), path, "demo", "1", Holder{}, 0)
	if err != nil {
		return fail(err)
	}
	if err := s.Put(record("before")); err != nil {
		return fail(err)
	}
	was, _ := os.ReadFile(path)
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return fail(err)
	}
	full := limit
	full.Cur = 300 // less than a change
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &full); err != nil {
		return fail(err)
	}
	// Everyone who waits gets the error, and nothing has changed, here or there.
	var wg sync.WaitGroup
	failed := make(chan error, 20)
	for i := range 20 {
		wg.Go(func() { failed <- s.Put(record("s" + strconv.Itoa(i))) })
	}
	wg.Wait()
	close(failed)
	for err := range failed {
		if !errors.Is(err, syscall.EFBIG) {
			return fail("Put on a full disk returned", err)
		}
	}
	if now, _ := os.ReadFile(path); string(now) != string(was) {
		return fail("the file has changed")
	}
	if st, err := Read(path); err != nil || st.Serial != 1 || len(st.Sessions) != 1 {
		return fail("a reader has", st.Serial, len(st.Sessions), err)
	}
	if st := s.State(); st.Serial != 1 || len(st.Sessions) != 1 {
		return fail("the store has", st.Serial, len(st.Sessions))
	}
	if left, _ := filepath.Glob(filepath.Dir(path) + "/.state.json*"); len(left) > 0 {
		return fail("left behind:", left)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return fail(err)
	}
	if err := s.Put(record("after")); err != nil {
		return fail(err)
	}
	st, err := Read(path)
	if err != nil || st.Serial != 2 || len(st.Sessions) != 2 {
		return fail("after space came back:", st, err)
	}
	return 0
}

func TestFullDisk(t *testing.T) {
	if err := child("full", filepath.Join(t.TempDir(), "state.json")).Run(); err != nil {
		t.Fatal(err)
	}
}
