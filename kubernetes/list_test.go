package kubernetes

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentform/agentform/session"
)

// TestListFails checks that the error of a list has the server's reason, and a remedy or the
// server's address.
func TestListFails(t *testing.T) {
	forbidden := `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"pods is forbidden: User \"u\" cannot list resource \"pods\"","reason":"Forbidden","details":{"kind":"pods"},"code":403}`
	err := listFails(t, http.StatusForbidden, forbidden)
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), `cannot list resource "pods"`) || !strings.Contains(err.Error(), "agentform runtime role") {
		t.Errorf("%v", err)
	}
	overloaded := `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"etcdserver: request timed out","code":500}`
	err = listFails(t, http.StatusInternalServerError, overloaded)
	if !errors.Is(err, session.ErrUnreachable) || !strings.Contains(err.Error(), "the API server http://127.0.0.1:") || !strings.Contains(err.Error(), "answered 500: etcdserver: request timed out") {
		t.Errorf("%v", err)
	}
}

// TestListOfPages reads all pages of a list.
func TestListOfPages(t *testing.T) {
	a, c := newAPI(t)
	for i := range 2500 {
		name := fmt.Sprintf("p-%04d", i)
		a.put("pods/"+name, object{"metadata": object{"name": name}})
	}
	all, err := list[pod](t.Context(), c, pods, metav1.ListOptions{})
	if err != nil || len(all) != 2500 || all[1000].Metadata.Name != "p-1000" || all[2499].Metadata.Name != "p-2499" {
		t.Errorf("%d pods, %v", len(all), err)
	}
	if n := a.calls["GET pods"]; n != 3 {
		t.Errorf("%d requests, want 3", n)
	}
}

// listFails returns the error of a list that a server answers with a status.
func listFails(t *testing.T, code int, status string) error {
	t.Helper()
	c := connected(t)
	c.http.Transport = noVainWait(roundTripper(func(q *http.Request) (*http.Response, error) {
		answer := httptest.NewRecorder()
		answer.Header().Set("Content-Type", "application/json")
		answer.WriteHeader(code)
		_, _ = answer.WriteString(status)
		a := answer.Result()
		a.Request = q
		return a, nil
	}))
	_, err := list[pod](t.Context(), c, pods, metav1.ListOptions{})
	return err
}
