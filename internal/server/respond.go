package server

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"

	"github.com/agentform/agentform/internal/wire"
)

// answer sends a document, or that a reader has it already.
func answer(w http.ResponseWriter, status int, document any) error {
	return answerUnless(w, status, document, nil)
}

// answerUnless sends a document, or that a reader has one with the same essence; nil: all of it. A browser
// may keep it, but has to ask each time whether it is still valid.
func answerUnless(w http.ResponseWriter, status int, document, essence any) error {
	h, whole := w.Header(), essence == nil
	if whole {
		essence = document
	}
	text, err := encoded(essence)
	if asked := reading(w); err == nil && asked != nil && status == http.StatusOK {
		tag := fmt.Sprintf(`W/"%.12x"`, sha256.Sum256(text)) // weak: it is that of the compressed text, too
		h.Set("ETag", tag)
		h.Set("Cache-Control", "private, no-cache")
		if names(asked.Header.Values("If-None-Match"), tag) {
			w.WriteHeader(http.StatusNotModified)
			return nil
		}
	}
	if err == nil && !whole {
		text, err = encoded(document)
	}
	if err != nil {
		return err
	}
	h.Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_, err = w.Write(text)
	return err
}

func encoded(v any) ([]byte, error) {
	var b bytes.Buffer
	err := wire.Write(&b, v)
	return b.Bytes(), err
}

// answerOnce sends a document that nobody asks for again, on one line.
func answerOnce(w http.ResponseWriter, document any) error {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(http.StatusOK)
	return wire.WriteLine(w, document)
}

// reading returns the request that a response is for, if it only reads; else nil.
func reading(w http.ResponseWriter) *http.Request {
	x, is := w.(*responseWriter)
	if !is || x.request.Method != http.MethodGet && x.request.Method != http.MethodHead {
		return nil
	}
	return x.request
}

// names reports whether the values of a header If-None-Match have a tag. Whether tags are weak does not
// matter there.
func names(values []string, tag string) bool {
	for _, value := range values {
		for have := range strings.SplitSeq(value, ",") {
			if have = strings.TrimSpace(have); have == "*" || strings.TrimPrefix(have, "W/") == strings.TrimPrefix(tag, "W/") {
				return true
			}
		}
	}
	return false
}
