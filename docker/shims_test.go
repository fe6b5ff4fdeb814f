package docker

import (
	"archive/tar"
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/docker/docker/client"

	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/internal/shim/install"
	"github.com/agentform/agentform/session"
)

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(q *http.Request) (*http.Response, error) { return f(q) }

// TestShimOfEngine checks that a volume gets the program for the engine's machine, once, and that
// without one for it nothing is copied and the error says where it is.
func TestShimOfEngine(t *testing.T) {
	data := t.TempDir()
	files := map[string]string{"amd64": filepath.Join(data, "x"), "arm64": filepath.Join(data, "arm")}
	for arch, file := range files {
		if err := os.WriteFile(file, []byte("for "+arch), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	const arm64 = "docker: the engine ssh://build is linux/arm64: "
	for name, test := range map[string]struct {
		shims    map[string]string
		os, arch string
		there    int    // bytes of the program that the container has
		copied   string // the program
		err      string
	}{
		"the first of two":  {files, "linux", "amd64", 0, "for amd64", ""},
		"the other":         {files, "linux", "arm64", 0, "for arm64", ""},
		"it is there":       {files, "linux", "arm64", len("for arm64"), "", ""},
		"a part is there":   {files, "linux", "arm64", 3, "for arm64", ""},
		"one that fits":     {map[string]string{"arm64": files["arm64"]}, "linux", "arm64", 0, "for arm64", ""},
		"one that does not": {map[string]string{"amd64": files["amd64"]}, "linux", "arm64", 0, "", arm64 + "agentform-shim for linux/arm64 is not next to agentform: it is in the release archives"},
		"none":              {nil, "linux", "arm64", 0, "", arm64 + "agentform-shim for linux/arm64 is not next to agentform: it is in the release archives"},
		"Windows":           {files, "windows", "amd64", 0, "", "docker: the engine ssh://build is windows/amd64: agentform-shim runs in containers of Linux"},
	} {
		c := Config{DataDir: data, Host: "ssh://build", Shim: []string{files["amd64"]}, Shims: test.shims}
		path := session.VolumeRoot + "/bin/" + install.Programs(test.shims).Name()
		copied := map[string]string{}
		e, err := client.NewClientWithOpts(client.WithVersion("1.41"), client.WithHost("tcp://engine:1"), client.WithHTTPClient(&http.Client{Transport: roundTripper(func(q *http.Request) (*http.Response, error) {
			r := &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: http.NoBody, Request: q}
			switch {
			case strings.HasSuffix(q.URL.Path, "/version"):
				r.Body = io.NopCloser(strings.NewReader(fmt.Sprintf(`{"Os": %q, "Arch": %q}`, test.os, test.arch)))
			case q.Method == http.MethodHead && q.URL.Query().Get("path") == path && test.there > 0:
				r.Header.Set("X-Docker-Container-Path-Stat", base64.StdEncoding.EncodeToString(fmt.Appendf(nil, `{"size": %d}`, test.there)))
			case q.Method == http.MethodPut && q.URL.Query().Get("path") == session.VolumeRoot:
				for in := tar.NewReader(q.Body); ; {
					h, err := in.Next()
					if errors.Is(err, io.EOF) {
						return r, nil
					}
					var b bytes.Buffer
					if err == nil {
						_, err = b.ReadFrom(in)
					}
					if err != nil {
						return nil, err
					}
					copied[session.VolumeRoot+"/"+h.Name] = b.String()
				}
			default:
				r.StatusCode = http.StatusNotFound
			}
			return r, nil
		})}))
		if err != nil {
			t.Fatal(err)
		}
		file, err := c.shim(t.Context(), e)
		if err == nil {
			err = c.equip(t.Context(), e, "c", session.VolumeRoot+"/workspaces/a/b", git.Owner{}, file, "", "")
		}
		if (test.err == "") != (err == nil) || err != nil && err.Error() != test.err {
			t.Errorf("%s: %v; want %q", name, err, test.err)
		}
		if copied[path] != test.copied || (test.err == "") != (len(copied) > 0) {
			t.Errorf("%s: copied %v; want %q at %s", name, copied, test.copied, path)
		}
	}
}
