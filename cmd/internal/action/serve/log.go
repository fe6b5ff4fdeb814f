package serve

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"gopkg.in/natefinch/lumberjack.v2"
)

// The hub's log is rotated at this many MiB, and this many old files are kept.
const (
	logSize = 4
	logsOld = 3
)

// LogFile returns a log file that is rotated.
func LogFile(path string) (io.WriteCloser, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("create the log directory: %w", err)
	}
	return &lumberjack.Logger{Filename: path, MaxSize: logSize, MaxBackups: logsOld}, nil
}
