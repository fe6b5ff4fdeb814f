package rundir

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// SignalsFile, in a run's directory, has the reports of the agent's hooks. oldSignals has what it
// held before it exceeded signalsLimit.
const SignalsFile = "signals.jsonl"

const oldSignals = SignalsFile + ".1"

// SignalLimit bounds one signal, and signalsLimit the file before it is started over: some thousand
// hooks.
const SignalLimit = 64 << 10

const SignalsLimit = 4 << 20

// shortMember is the longest text that a shortened signal keeps, in bytes.
const shortMember = 2 << 10

// SignalsTail is how much of the file's end is read.
const SignalsTail = 512 << 10

// Signal is one report of an agent's hook: a line of the run's signals.
type Signal struct {
	At   time.Time       `json:"at"`
	Data json.RawMessage `json:"data"` // from the agent, at most 64 KiB
}

// AppendSignal adds a hook's report to the run's signals, in one write, so that concurrent hooks
// never mix.
func AppendSignal(runDir string, said []byte, at time.Time) error {
	data, err := shortened(said)
	if err != nil {
		return err
	}
	line, err := json.Marshal(Signal{At: at.UTC(), Data: data})
	if err != nil {
		return err
	}
	path := filepath.Join(runDir, SignalsFile)
	if info, err := os.Lstat(path); err == nil && info.Size() > SignalsLimit {
		// Concurrent hooks may each do so; the second rename then moves a line or two.
		if err := os.Rename(path, filepath.Join(runDir, oldSignals)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}

// shortened returns a JSON document in one line of at most signalLimit bytes. Of a longer object it
// keeps the short members.
func shortened(said []byte) (json.RawMessage, error) {
	var line bytes.Buffer
	if err := json.Compact(&line, said); err != nil {
		return nil, fmt.Errorf("it is not valid JSON: %w", err)
	}
	if line.Len() <= SignalLimit {
		return line.Bytes(), nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(line.Bytes(), &members); err != nil {
		return nil, fmt.Errorf("it is longer than %d KiB and not an object", SignalLimit>>10)
	}
	for name, value := range members {
		if len(name)+len(value) > shortMember {
			delete(members, name)
		}
	}
	b, err := json.Marshal(members)
	if err == nil && len(b) > SignalLimit {
		err = fmt.Errorf("it is longer than %d KiB", SignalLimit>>10)
	}
	return b, err
}

// ReadSignals returns the last reports of a run's hooks, the oldest first: some hundred signals. It
// skips invalid lines and an incomplete last one. A run without signals is not an error. The file
// was written with the agent's rights: it is a claim.
func ReadSignals(runDir string) ([]Signal, error) {
	f, err := os.OpenFile(filepath.Join(runDir, SignalsFile), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("read signals: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, fmt.Errorf("read signals: %s is not a regular file", f.Name()))
	}
	from := max(0, info.Size()-SignalsTail)
	b, err := io.ReadAll(io.NewSectionReader(f, from, SignalsTail))
	if err != nil {
		return nil, fmt.Errorf("read signals: %w", err)
	}
	if from > 0 { // starts in the middle of a line
		_, b, _ = bytes.Cut(b, []byte("\n"))
	}
	var all []Signal
	for line := range bytes.Lines(b) {
		var s Signal
		if json.Unmarshal(line, &s) == nil && !s.At.IsZero() {
			all = append(all, s)
		}
	}
	return all, nil
}

// SignalsSize returns the size of a run's signals in bytes, 0 without any. Each signal changes it.
func SignalsSize(runDir string) int64 {
	info, err := os.Lstat(filepath.Join(runDir, SignalsFile))
	if err != nil {
		return 0
	}
	return info.Size()
}
