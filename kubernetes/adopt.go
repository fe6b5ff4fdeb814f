package kubernetes

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/agentform/agentform/session"
)

// IDForm is the format of ids for Find.
const IDForm = "kubernetes:[NAMESPACE/]NAME (of a StatefulSet or its pod)"

// Find looks up the session of the StatefulSet that an id names, or of the pod.
func (r *Runtime) Find(ctx context.Context, id string) session.Found {
	fail := func(format string, args ...any) session.Found {
		return session.Found{Err: fmt.Errorf(format, args...)}
	}
	name, ok := strings.CutPrefix(id, "kubernetes:")
	namespace, in, both := strings.Cut(name, "/")
	if both {
		name = in
	}
	if !ok || name == "" || both && namespace == "" {
		return fail("invalid id %.100q: expected %s", id, IDForm)
	}
	c, err := r.cluster()
	if err != nil {
		return session.Found{Err: err}
	}
	if both && namespace != c.namespace {
		return fail("it is in namespace %s, and the session is declared in namespace %s", namespace, c.namespace)
	}
	lives, err := r.Observe(ctx, false)
	if err != nil {
		return session.Found{Err: err}
	}
	at := slices.IndexFunc(lives, func(l session.Live) bool { return l.Location.Name == name })
	if at < 0 {
		at = slices.IndexFunc(lives, func(l session.Live) bool { return podName(l.Location.Name) == name })
	}
	switch {
	case at < 0:
		return fail("namespace %s has no StatefulSet %s (kubectl get statefulset -n %s)", c.namespace, name, c.namespace)
	case lives[at].Mark.ID == "":
		return fail("StatefulSet %s was not made by agentform: only sessions of agentform can be adopted in a cluster", lives[at].Location.Name)
	case lives[at].Foreign:
		return fail("StatefulSet %s is %s of another agentform project, or of another state of this one", lives[at].Location.Name, lives[at].Mark.Address)
	}
	return session.Found{Live: &lives[at]}
}
