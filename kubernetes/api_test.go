package kubernetes

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// api is an API server that keeps objects in memory. It has no controllers: nothing collects,
// schedules or binds.
type api struct {
	mu      sync.Mutex
	objects map[string]object // by path below the namespace: networkpolicies/a
	calls   map[string]int    // by method and path
	made    int
	runs    bool // pods run as soon as they are created
}

// newAPI returns an API server, and a connection to it.
func newAPI(t *testing.T) (*api, *cluster) {
	t.Helper()
	c := connected(t)
	a := &api{objects: map[string]object{}, calls: map[string]int{}}
	c.http.Transport = roundTripper(func(q *http.Request) (*http.Response, error) {
		answer := httptest.NewRecorder()
		answer.Header().Set("Content-Type", "application/json")
		code, body := a.serve(q)
		answer.WriteHeader(code)
		if err := json.NewEncoder(answer).Encode(body); err != nil {
			return nil, err
		}
		r := answer.Result()
		r.Request = q
		return r, nil
	})
	return a, c
}

// connected returns a connection to a server that does not exist.
func connected(t *testing.T) *cluster {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config")
	text := `{"apiVersion":"v1","kind":"Config","current-context":"c","clusters":[{"name":"c","cluster":{"server":"http://127.0.0.1:1"}}],
		"users":[{"name":"u","user":{}}],"contexts":[{"name":"c","context":{"cluster":"c","user":"u","namespace":"n"}}]}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := connect(Config{Kubeconfig: file})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// runtime returns a runtime that is connected to a cluster.
func (c *cluster) runtime(config Config) *Runtime {
	r := New(config)
	r.cluster = func() (*cluster, error) { return c, nil }
	r.shims = func() (programs, error) { return programs{}, nil }
	return r
}

func refused(code int, reason, path string) (int, object) {
	return code, object{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": code, "message": path + ": " + reason}
}

func (a *api) serve(q *http.Request) (int, object) {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, path, _ := strings.Cut(q.URL.Path, "/namespaces/n/")
	a.calls[q.Method+" "+path]++
	var body object
	if q.Body != nil {
		text, err := io.ReadAll(q.Body)
		if err == nil && len(text) > 0 && text[0] == '{' {
			err = json.Unmarshal(text, &body)
		}
		if err != nil {
			return refused(http.StatusBadRequest, "BadRequest", path)
		}
	}
	there := a.objects[path]
	switch {
	case q.Method == http.MethodPost && q.URL.Query().Get("fieldValidation") != "Strict": // it would drop a field that is misspelled
		return refused(http.StatusBadRequest, "BadRequest", path)
	case q.Method == http.MethodPost && !strings.Contains(path, "/"):
		path += "/" + fmt.Sprint(body["metadata"].(object)["name"])
		if a.objects[path] != nil {
			return refused(http.StatusConflict, "AlreadyExists", path)
		}
		a.put(path, body)
		if a.runs && strings.HasPrefix(path, "pods/") {
			body["status"] = object{"phase": "Running", "containerStatuses": []any{object{"name": containerName, "state": object{"running": object{}}}}}
		}
		return http.StatusCreated, a.objects[path]
	case q.Method == http.MethodGet && !strings.Contains(path, "/"):
		items := []any{}
		for _, name := range slices.Sorted(maps.Keys(a.objects)) {
			if strings.HasPrefix(name, path+"/") && selects(q.URL.Query().Get("labelSelector"), a.objects[name]) {
				items = append(items, a.objects[name])
			}
		}
		from, _ := strconv.Atoi(q.URL.Query().Get("continue"))
		limit, _ := strconv.Atoi(q.URL.Query().Get("limit"))
		page, more := items[from:], ""
		if limit > 0 && len(page) > limit {
			page, more = page[:limit], fmt.Sprint(from+limit)
		}
		return http.StatusOK, object{"kind": "List", "apiVersion": "v1", "metadata": object{"continue": more}, "items": page}
	case there == nil:
		return refused(http.StatusNotFound, "NotFound", path)
	case q.Method == http.MethodPatch:
		a.change(path, body)
		return http.StatusOK, a.objects[path]
	case q.Method == http.MethodDelete && body["preconditions"] != nil && body["preconditions"].(object)["uid"] != there["metadata"].(object)["uid"]:
		return refused(http.StatusConflict, "Conflict", path)
	case q.Method == http.MethodDelete:
		delete(a.objects, path)
		return http.StatusOK, there
	case q.Method == http.MethodGet:
		return http.StatusOK, there
	}
	return refused(http.StatusMethodNotAllowed, "MethodNotAllowed", path)
}

// put stores an object as the API server does one that is created.
func (a *api) put(path string, o object) {
	a.made++
	m := o["metadata"].(object)
	m["uid"], m["resourceVersion"], m["generation"] = fmt.Sprintf("uid-%d", a.made), fmt.Sprint(a.made), 1.0
	a.objects[path] = o
}

// change applies a merge patch to an object. A change of the spec counts as a generation.
func (a *api) change(path string, patch object) {
	o := a.objects[path]
	before, _ := json.Marshal(o["spec"])
	changed := merged(o, patch).(object)
	after, _ := json.Marshal(changed["spec"])
	a.made++
	m := changed["metadata"].(object)
	m["resourceVersion"] = fmt.Sprint(a.made)
	if string(before) != string(after) {
		m["generation"] = m["generation"].(float64) + 1
	}
	a.objects[path] = changed
}

// merged returns what a merge patch makes of a value.
func merged(old, patch any) any {
	p, is := patch.(object)
	if !is {
		return patch
	}
	all := object{}
	if o, ok := old.(object); ok {
		all = maps.Clone(o)
	}
	for name, value := range p {
		if value == nil {
			delete(all, name)
		} else {
			all[name] = merged(all[name], value)
		}
	}
	return all
}

// selects reports whether a selector of one label, or none, selects an object.
func selects(selector string, o object) bool {
	name, value, exact := strings.Cut(selector, "=")
	labels, _ := o["metadata"].(object)["labels"].(object)
	return selector == "" || labels[name] != nil && (!exact || labels[name] == value)
}

// names returns the objects of a resource.
func (a *api) names(resource string) (all []string) {
	for _, path := range slices.Sorted(maps.Keys(a.objects)) {
		if name, is := strings.CutPrefix(path, resource+"/"); is {
			all = append(all, name)
		}
	}
	return all
}
