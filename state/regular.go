package state

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/agentform/agentform/internal/layout"
)

// fileLimit bounds the size of files of the state. Ten thousand sessions take 30 MB.
const fileLimit = 1 << 30

func openRegular(path string) (*os.File, int, error) {
	f, err := layout.OpenRegular(path, 0)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && info.Size() > fileLimit {
		err = fmt.Errorf("%s is larger than %d MiB: move it away", path, fileLimit>>20)
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, int(info.Size()), nil
}

func readRegular(path string) ([]byte, error) {
	f, size, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var b bytes.Buffer
	b.Grow(size + bytes.MinRead) // to see the end without growing
	_, err = b.ReadFrom(io.LimitReader(f, fileLimit))
	return b.Bytes(), err
}
