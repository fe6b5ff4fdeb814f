//go:build real

package cli_test

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// gitlab DIR: the API of gitlab.example.test over TLS, for the glab of the system, or else for a
// stand-in, which find it by a proxy and know the token of the script. It answers for the project
// group/shop/api from files of the directory: merge_requests-BRANCH, merge_request-NUMBER,
// discussions-NUMBER, jobs-PIPELINE and member-USER, and logs as soon as there is a file log. What it
// was asked is in the file requests.
func gitlab(ts *testscript.TestScript, neg bool, args []string) {
	g := &gitLab{requests{dir: ts.MkAbs(args[0])}}
	overTLS(ts, g.dir, g, gitLabHost)
	ts.Setenv("GITLAB_TOKEN", gitLabToken)
	if _, err := exec.LookPath("glab"); err == nil {
		return
	}
	tools := filepath.Join(g.dir, "tools")
	ts.Check(os.Mkdir(tools, 0o700))
	ts.Check(os.WriteFile(filepath.Join(tools, "glab"), []byte("#!/bin/sh\nexec fakeglab \"$@\"\n"), 0o700))
	ts.Setenv("PATH", tools+string(filepath.ListSeparator)+ts.Getenv("PATH"))
}

const (
	gitLabHost  = "gitlab.example.test"
	gitLabToken = "glpat-t0kenOfTheScript"
)

// gitLab is the API of GitLab, as far as agentform asks it.
type gitLab struct{ requests }

func (g *gitLab) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.note(g.answer(w, r), r)
}

func (g *gitLab) answer(w http.ResponseWriter, r *http.Request) (status int) {
	path, isOurs := strings.CutPrefix(r.URL.EscapedPath(), "/api/v4/projects/group%2Fshop%2Fapi/")
	parts := strings.Split(path, "/")
	is := func(pattern string) bool { ok, err := filepath.Match(pattern, path); return ok && err == nil }
	switch {
	case r.Header.Get("Private-Token") != gitLabToken && r.Header.Get("Authorization") != "Bearer "+gitLabToken:
		return refuse(w, http.StatusUnauthorized, "401 Unauthorized")
	case r.Host != gitLabHost || !isOurs || r.Method != http.MethodGet:
		return refuse(w, http.StatusNotFound, "404 Not Found")
	case is("jobs/*/trace"):
		g.waitForLog(r)
		w.Header().Set("Content-Type", "text/plain")
		http.ServeFile(w, r, filepath.Join(g.dir, "log"))
		return http.StatusOK
	}
	file, empty := "", "[]"
	switch {
	case is("merge_requests"):
		file = "merge_requests-" + strings.TrimPrefix(r.URL.Query().Get("source_branch"), "agents/")
	case is("merge_requests/*"):
		file, empty = "merge_request-"+parts[1], ""
	case is("merge_requests/*/discussions"):
		file = "discussions-" + parts[1]
	case is("pipelines/*/jobs"):
		file = "jobs-" + parts[1]
	case is("members/all/*"):
		file, empty = "member-"+parts[2], ""
	}
	if _, err := os.Stat(filepath.Join(g.dir, file)); file == "" || err != nil && empty == "" {
		return refuse(w, http.StatusNotFound, "404 Not Found")
	}
	return g.file(w, r, file, empty, "RateLimit-")
}

// fakeGlab does what glab api does with the options that agentform gives it.
func fakeGlab() int {
	fail := func(err error) int {
		fmt.Fprintln(os.Stderr, "ERROR:", err)
		return 1
	}
	args, host, include := os.Args[1:], "", false
	headers := http.Header{"Private-Token": {os.Getenv("GITLAB_TOKEN")}}
	for len(args) > 2 {
		switch args[1] {
		case "--include":
			include = true
			args = slices.Delete(args, 1, 2)
			continue
		case "--hostname":
			host = args[2]
		case "--header":
			name, value, _ := strings.Cut(args[2], ":")
			headers.Add(name, strings.TrimSpace(value))
		}
		args = slices.Delete(args, 1, 3)
	}
	if len(args) != 2 || args[0] != "api" || host == "" {
		return fail(fmt.Errorf("unknown command line: %q", os.Args[1:]))
	}
	r, err := http.NewRequest(http.MethodGet, "https://"+host+"/api/v4/"+args[1], nil)
	if err != nil {
		return fail(err)
	}
	r.Header = headers
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		return fail(err)
	}
	defer a.Body.Close()
	if include {
		fmt.Println(a.Proto, a.Status)
		for _, name := range slices.Sorted(maps.Keys(a.Header)) {
			fmt.Printf("%s: %s\r\n", name, strings.Join(a.Header[name], ", "))
		}
		fmt.Print("\r\n")
	}
	if _, err := io.Copy(os.Stdout, a.Body); err != nil {
		return fail(err)
	}
	if a.StatusCode > 299 {
		fmt.Fprintf(os.Stderr, "glab: HTTP %d\n", a.StatusCode)
		return 1
	}
	return 0
}
